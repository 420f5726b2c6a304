# Postroom: the commands of every day. `make` alone lists them.

LINT_VERSION := 2.15.0
LINT         := $(CURDIR)/bin/golangci-lint-$(LINT_VERSION)
MODULES      := $(dir $(wildcard go.mod */go.mod))
SCRIPTS      := .ci/run scripts/services scripts/test scripts/fuzz scripts/vuln $(wildcard scripts/lib/*.sh)

# All but the race detector of scripts/test works without a C compiler.
export CGO_ENABLED := 0

SOAK := ./internal/mutants ./amqp ./kafka

.PHONY: help run test soak test-debezium fuzz vuln check lint format tidy build docs api screenshots licences scripts speed services-up services-down bench bench-quick bench-debezium bench-report bench-store bench-publish bench-capture chaos chaos-short

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

run: ## start the example shop on embedded defaults (needs Go alone)
	go build -o bin/orders-api ./examples/orders-api && exec bin/orders-api

test: ## run all tests on real servers, with the race detector (ARGS: packages, flags)
	@scripts/test $(ARGS)

soak: ## run what takes long: brokers that restart, freeze and fail, code that is broken on purpose (ARGS: packages, flags)
	@scripts/test -tags soak -timeout 60m $(or $(ARGS),$(SOAK))
	@$(if $(ARGS),,$(MAKE) --no-print-directory test-debezium)

# A replication slot keeps the WAL of a whole server, so this test has one of its own, which goes with it.
test-debezium: ## let a stock Debezium read the table beside our relay, and compare what they publish (ARGS: flags)
	@POSTROOM_SERVICES_DIR=$${POSTROOM_SERVICES_DIR:-$(CURDIR)/.services}/debezium \
		TEST_SERVERS="postgres kafka connect" \
		env -u POSTGRES_URL -u POSTROOM_POSTGRES_PORT scripts/test -tags soak $(ARGS) ./internal/debezium

fuzz: ## fuzz everything that parses, each target for FUZZTIME (30s; ARGS: packages)
	@scripts/fuzz $(ARGS)

# It needs the vulnerability database, so CI does without.
vuln: ## look for known vulnerabilities in what the code calls (VULNDB: a database instead of vuln.go.dev)
	@VULNDB=$(VULNDB) scripts/vuln $(ARGS)

check: format lint tidy build docs scripts speed ## everything about the source that needs no server

format: $(LINT)
	@for module in $(MODULES); do (cd $$module && $(LINT) fmt --diff) || exit 1; done

lint: $(LINT)
	@for module in $(MODULES); do \
		echo "lint $$module" && (cd $$module && $(LINT) run ./... && go vet ./...) || exit 1; done

tidy:
	@for module in $(MODULES); do (cd $$module && go mod tidy -diff) || exit 1; done

build:
	@for module in $(MODULES); do \
		echo "build $$module" && (cd $$module && go build ./...) || exit 1; done

docs:
	go test -count=1 ./internal/docs/
	cd bench && go test -count=1 -run '^TestReport$$' .

api: ## write docs/api anew, what each package exports
	go test ./internal/docs -run '^TestAPI$$' -update

screenshots: ## take the pictures of docs/images anew, in a Chromium
	go test ./dashboard -run '^TestScreenshots$$' -count=1 -screenshots

licences: ## write docs/licences.md anew, what the module depends on
	go test ./internal/docs -run '^TestLicences$$' -update

scripts:
	@for script in $(SCRIPTS); do bash -n $$script || exit 1; done

speed: ## compare what every message runs through with the committed baseline, as ratios (ARGS: -update)
	@go run ./internal/benchcheck $(ARGS)

services-up: ## start PostgreSQL, PgBouncer, MariaDB, RabbitMQ and Kafka for the tests
	@scripts/services up

services-down: ## end them and remove their data
	@scripts/services down

bench: ## measure everything, beside raw limits and other ways (ARGS: flags, see bench/README.md)
	@echo "bench: on the servers given, or started here (make services-down ends those)"
	@scripts/services up postgres rabbitmq kafka
	@eval "$$(scripts/services env postgres rabbitmq kafka)" && cd bench && go run . $(ARGS)

bench-quick: ## measure the main ratios in a few minutes
	@scripts/services up postgres rabbitmq kafka
	@eval "$$(scripts/services env postgres rabbitmq kafka)" && cd bench && go run . -suite quick -messages 30000 -rows 100000 -repeats 2 $(ARGS)

bench-debezium: ## measure Debezium beside ours, or add it to a full run (ARGS: '-suite full -run NAME')
	@scripts/services up postgres rabbitmq kafka connect
	@eval "$$(scripts/services env postgres rabbitmq kafka connect)" && cd bench && \
		go run . -debezium -suite drain -subjects ours-kafka,debezium-kafka $(ARGS)

bench-report: ## write docs/performance.md, its pictures and bench/results/latest.csv from the latest results
	@cd bench && go run . -report

bench-store: ## measure the store alone, beside bare loops, in clean and in tired databases, and Enqueue beside Create
	@echo "bench-store: on the servers given, or started here (make services-down ends those)"
	@scripts/services up
	@eval "$$(scripts/services env)" && status=0; (cd bench && go run . -suite store $(ARGS)) || status=1; \
		go test -run '^$$' -bench '^BenchmarkEnqueue$$' -benchtime 2000x ./gormstore && exit $$status

bench-capture: ## measure what capture costs a request and a transaction, as ratios (ARGS: flags of go test)
	@scripts/services up postgres
	@eval "$$(scripts/services env postgres)" && \
		go test ./gormstore -run '^$$' -bench Capture -benchtime 2000x $(ARGS)

bench-publish: ## measure the publishers alone, beside the clients that they are made of and beside Watermill's
	@echo "bench-publish: on the servers given, or started here (make services-down ends those)"
	@scripts/services up
	@eval "$$(scripts/services env)" && cd bench && go run . -suite publish $(ARGS)

DURATION ?= 60m
SEED     ?= 1

chaos: ## cause faults for DURATION (60m) in a sequence that SEED (1) decides, on clusters of three nodes (ARGS: flags)
	@scripts/services install postgres rabbitmq kafka
	@cd chaos && go run . -cluster -seed $(SEED) -duration $(DURATION) $(ARGS)

chaos-short: ## cause faults for a minute on single nodes, deploy under load, and show that the suite can fail
	@scripts/services install postgres rabbitmq kafka
	@cd chaos && go test -v -count=1 -timeout 15m -parallel 2 ./...

$(LINT):
	@echo "building golangci-lint $(LINT_VERSION)"
	@GOFLAGS= GOBIN=$(CURDIR)/bin \
		go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION)
	@mv bin/golangci-lint $@
