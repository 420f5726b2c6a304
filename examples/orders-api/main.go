package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/postroom/postroom/outbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	if err := run(ctx, os.Getenv, os.Stdout); err != nil {
		slog.Error("orders-api ended", "error", err)
		os.Exit(1)
	}
}

// run is the program: it wires everything, serves until ctx ends, and stops what it started.
func run(ctx context.Context, getenv func(string) string, out io.Writer) (err error) {
	config, err := readConfig(getenv)
	if err != nil {
		return err
	}

	db, err := openDatabase(ctx, config)
	if err != nil {
		return err
	}
	defer closing(&err, db.close)
	monitor, err := newMonitor()
	if err != nil {
		return err
	}
	store, bus, err := openStore(db.DB, config.topic, monitor)
	if err != nil {
		return err
	}

	broker, err := openBroker(ctx, config)
	if err != nil {
		return err
	}
	defer closing(&err, broker.close)

	var parts []part // stopped from the last to the first
	var relays []*outbox.Relay
	if config.relay {
		relay, err := outbox.NewRelay(store, monitor.Publisher(broker.publisher), outbox.RelayConfig{
			Workers: db.workers, Lease: config.lease, Observer: monitor.Observer(),
		})
		if err != nil {
			return err
		}
		parts, relays = append(parts, part{"relay", relay.Run}), append(relays, relay)
	}
	defer monitor.Watch(store, relays...)()
	if config.api {
		router, err := newRouter(shipping{db.DB, store}, broker.subscriber, config)
		if err != nil {
			return err
		}
		pages, err := newPages(store, relays...)
		if err != nil {
			return err
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", config.addr)
		if err != nil {
			return fmt.Errorf("%w: ADDR chooses another address, such as ADDR=127.0.0.1:8081", err)
		}
		parts = append(parts,
			part{"shipping", router.Run},
			part{"dashboard", pages.Run},
			part{"http", serveHTTP(listener, newHandler(db.DB, store, bus, pages, monitor.routes(store, relays...)))})
		greet(out, listener.Addr(), db.name, broker.name)
		fmt.Fprintf(out, "See its outbox at http://%s%s as %s with the password %s\nCtrl-C ends it.\n",
			listener.Addr(), pagesPath, operatorName, pages.password)
	} else {
		fmt.Fprintf(out, "orders-api relays from %s to %s\n", db.name, broker.name)
	}
	return runParts(ctx, parts...)
}

// closing runs a deferred close and keeps its error.
func closing(err *error, end func() error) { *err = errors.Join(*err, end()) }

func greet(out io.Writer, addr net.Addr, database, broker string) {
	const order = `{"customer":"c-1","items":[{"sku":"book","quantity":2,"unit_price_cents":1999}]}`
	const untilFound = "--fail --retry 5 --retry-delay 1 --retry-all-errors"
	fmt.Fprintf(out, "orders-api listens on http://%s (%s, %s)\n", addr, database, broker)
	fmt.Fprintln(out, "Place an order and wait for its shipment:")
	fmt.Fprintf(out, `  order=$(curl -s http://%s/orders -d '%s'); echo "$order"; sleep 0.5; `, addr, order)
	fmt.Fprintf(out, `curl -s %s http://%s/shipments/$(echo "$order" | grep -o '[0-9a-f-]\{36\}')`+"\n", untilFound, addr)
}
