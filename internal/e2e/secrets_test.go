package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/lib/pq"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testoutput"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// secret is in every address of this file.
const secret = "hunter2correcthorse"

// away are hosts where there is no server, for one reason or another.
var away = []string{"127.0.0.1:1", "no-such-host.invalid:1", "[::1]:1"}

// TestSecrets lets every part that connects to something meet a server that is away, and one that does not let it in,
// and looks for its password in all that it says.
func TestSecrets(t *testing.T) {
	t.Run("of_PostgreSQL_are_in_no_error_and_no_log", func(t *testing.T) {
		t.Parallel()
		server := at(t, testservices.Postgres(t))
		for _, driver := range []string{"pgx", "postgres"} {
			for _, host := range append(away, server) {
				address := fmt.Sprintf("postgres://postroom:%s@%s/none?sslmode=disable&connect_timeout=5", secret, host)
				wantSilence(t, driver+" "+host, postgres.New(postgres.Config{DriverName: driver, DSN: address}))
			}
		}
	})
	t.Run("of_MariaDB_are_in_no_error_and_no_log", func(t *testing.T) {
		t.Parallel()
		for _, host := range append(away, at(t, testservices.MariaDB(t))) {
			c := mysqldriver.NewConfig()
			c.Net, c.Addr, c.User, c.Passwd, c.DBName = "tcp", host, "postroom", secret, "none"
			wantSilence(t, host, mysql.New(mysql.Config{DSNConfig: c, SkipInitializeWithVersion: true}))
		}
	})
	t.Run("of_RabbitMQ_are_in_no_error_and_no_log", func(t *testing.T) {
		t.Parallel()
		for _, host := range append(away, at(t, testservices.AMQP(t))) {
			log := &journal{}
			p, err := amqp.Open(amqp.Config{
				URLs:       []string{fmt.Sprintf("amqp://postroom:%s@%s/", secret, host)},
				Management: fmt.Sprintf("http://postroom:%s@%s", secret, host), Logger: log.logger(),
			})
			must(t, err)
			_, check := p.Check(within(t), "orders")
			log.relays(t, memory(t), p)
			log.wantNo(t, host, check, p.Close())
		}
	})
	t.Run("of_Kafka_are_in_no_error_and_no_log", func(t *testing.T) {
		t.Parallel()
		for _, host := range append(away, testservices.Kafka(t)[0]) {
			log := &journal{}
			p, err := kafka.Open(kafka.Config{
				Brokers: []string{host}, SASL: []sasl.Mechanism{plain.Auth{User: "postroom", Pass: secret}.AsMechanism()},
				DeliveryTimeout: 1e9, NetworkTimeout: 1e9, RequestTimeout: 1e9, Logger: log.logger(),
			})
			must(t, err)
			_, check := p.Check(within(t), "orders")
			log.relays(t, memory(t), p)
			log.wantNo(t, host, check, p.Close())
		}
	})
}

// at returns the host of a server.
func at(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("the address of a server is no URL")
	}
	return u.Host
}

// wantSilence uses a store in every way that has its own path to the server.
func wantSilence(t *testing.T, where string, dialector gorm.Dialector) {
	t.Helper()
	log := &journal{}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	defer pool.Close()
	store, err := gormstore.Open(db, gormstore.Config{Logger: log.logger()})
	must(t, err)
	ctx := within(t)
	enqueue := store.Transaction(ctx, func(tx *gormstore.Tx) error { return tx.Enqueue(ctx, anyOrder()) })
	_, find := store.Find(ctx, outbox.Filter{}, 0, 1)
	_, backlog := store.Backlog(ctx)
	_, prune := store.Prune(ctx, 1)
	_, schema := gormstore.CheckSchema(ctx, db, gormstore.MigrateConfig{})
	migrate := gormstore.Migrate(ctx, db, gormstore.MigrateConfig{})
	log.relays(t, store, outbox.PublisherFunc(func(context.Context, *outbox.Message) error { return nil }))
	log.wantNo(t, where, enqueue, find, backlog, prune, schema, migrate)
}

func anyOrder() *outbox.Message {
	return &outbox.Message{Topic: "orders", Key: "k", Type: "order.placed"}
}

// memory is a store with one message.
func memory(t *testing.T) outbox.Store {
	t.Helper()
	store := memstore.New(memstore.Config{})
	must(t, store.InTransaction(t.Context(), func(ctx context.Context) error { return store.Enqueue(ctx, anyOrder()) }))
	return store
}

// journal is all that was logged.
type journal struct{ testoutput.Buffer }

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// relays runs a relay until it has said that something is wrong.
func (j *journal) relays(t *testing.T, store outbox.Store, p outbox.Publisher) {
	t.Helper()
	relay, err := outbox.NewRelay(store, p, outbox.RelayConfig{Logger: j.logger()})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			_, _ = fmt.Fprintln(j, err)
		}
	}()
	eventually(t, func() string {
		if !strings.Contains(j.String(), "level=WARN") && !strings.Contains(j.String(), "level=ERROR") {
			return "the relay has not said that anything is wrong"
		}
		return ""
	})
}

// wantNo fails the test when the secret was logged, or is in an error; and when nothing went wrong.
func (j *journal) wantNo(t *testing.T, where string, errs ...error) {
	t.Helper()
	err := errors.Join(errs...)
	if err == nil {
		t.Errorf("%s: nothing went wrong", where)
	}
	if said := fmt.Sprintf("%v %+v %s", err, err, j); strings.Contains(said, secret) {
		t.Errorf("%s: the password is in: %s", where, said)
	}
}
