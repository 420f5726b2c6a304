package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/internal/testservices"
)

const (
	deadline = 30 * time.Second
	glance   = 20 * time.Millisecond
	anOrder  = `{"customer":"c-1","items":[{"sku":"book","quantity":2,"unit_price_cents":1999}]}`
)

type environment map[string]string

func (e environment) get(name string) string { return e[name] }

// openShop runs the program until the test ends and returns its address, if it has one.
func openShop(t *testing.T, env environment) string {
	t.Helper()
	lines := startShop(t, env)
	address := regexp.MustCompile(`http://[0-9.:]+`).FindString(readLine(t, lines))
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return address
}

func readLine(t *testing.T, lines *bufio.Reader) string {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the program said %q: %v", line, err)
	}
	return line
}

// startShop runs the program until the test ends and returns what it says, which has to be read.
func startShop(t *testing.T, env environment) *bufio.Reader {
	t.Helper()
	env = maps.Clone(env)
	env["ADDR"] = "127.0.0.1:0"
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, env.get, in)
		in.CloseWithError(errors.Join(io.EOF, err))
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the program ended: %v", err)
			}
		case <-time.After(deadline):
			t.Errorf("the program did not end in %v", deadline)
		}
	})
	return bufio.NewReader(out)
}

func send(t *testing.T, method, url, body string) (int, []byte, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, got, answer.Header
}

func decode[T any](t *testing.T, body []byte) (value T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("decode %s: %v", body, err)
	}
	return value
}

// waitForShipment asks until the order is shipped.
func waitForShipment(t *testing.T, shop string, order uuid.UUID) Shipment {
	t.Helper()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for end := time.Now().Add(deadline); time.Now().Before(end); <-tick.C {
		status, body, _ := send(t, http.MethodGet, shop+"/shipments/"+order.String(), "")
		switch status {
		case http.StatusOK:
			return decode[Shipment](t, body)
		case http.StatusNotFound:
		default:
			t.Fatalf("GET shipment: %d %s", status, body)
		}
	}
	t.Fatalf("order %s was not shipped in %v", order, deadline)
	return Shipment{}
}

func place(t *testing.T, shop string) Order {
	t.Helper()
	status, body, _ := send(t, http.MethodPost, shop+"/orders", anOrder)
	if status != http.StatusCreated {
		t.Fatalf("POST order: %d %s", status, body)
	}
	return decode[Order](t, body)
}

func TestShop(t *testing.T) {
	t.Parallel()
	for name, setUp := range map[string]func(t *testing.T) (environment, *gorm.DB){
		"on_SQLite_and_Kafka_in_the_process":  onOwnServers,
		"on_MariaDB_and_Kafka_in_the_process": onMariaDB,
		"on_PostgreSQL_and_Kafka":             onKafka,
		"on_PostgreSQL_and_RabbitMQ":          onRabbitMQ,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, db := setUp(t)
			shop := openShop(t, env)
			record(t, db)

			order := place(t, shop)
			shipment := waitForShipment(t, shop, order.ID)

			if shipment.OrderID != order.ID {
				t.Errorf("shipped order %s, want %s", shipment.OrderID, order.ID)
			}
			var stored []string
			if err := db.Raw("SELECT id FROM stored").Scan(&stored).Error; err != nil {
				t.Fatal(err)
			}
			if len(stored) != 1 || stored[0] != shipment.EventID.String() {
				t.Errorf("event %s was shipped, the outbox stored %v", shipment.EventID, stored)
			}
			wantEmptyOutbox(t, db)
		})
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	t.Run("let_relays_run_beside_the_api_and_each_order_ships_once", func(t *testing.T) {
		t.Parallel()
		const orders = 40
		env, db := onKafka(t)
		env["OUTBOX_LEASE"] = "5s"
		relay := maps.Clone(env)
		relay["ROLE"], env["ROLE"] = "relay", "api"
		shop := openShop(t, env)
		openShop(t, relay)
		openShop(t, relay)

		var placed []uuid.UUID
		for range orders {
			placed = append(placed, place(t, shop).ID)
		}
		for _, order := range placed {
			waitForShipment(t, shop, order)
		}
		wantRows(t, db, map[string]int64{"orders": orders, "shipments": orders})
		wantEmptyOutbox(t, db)
	})
}

// record makes the database remember the id of every message that is stored.
func record(t *testing.T, db *gorm.DB) {
	t.Helper()
	statements := []string{`CREATE TABLE stored (id TEXT)`}
	switch db.Name() {
	case "sqlite":
		statements = append(statements, `CREATE TRIGGER record AFTER INSERT ON outbox_messages
			BEGIN INSERT INTO stored VALUES (NEW.id); END`)
	case "mysql":
		statements = append(statements, `CREATE TRIGGER record AFTER INSERT ON outbox_messages FOR EACH ROW
			INSERT INTO stored VALUES (CAST(CAST(NEW.id AS UUID) AS CHAR))`)
	default:
		statements = append(statements, `CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN INSERT INTO stored VALUES (NEW.id::text); RETURN NULL; END $$`,
			`CREATE TRIGGER record AFTER INSERT ON outbox_messages FOR EACH ROW EXECUTE FUNCTION record()`)
	}
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// wantEmptyOutbox waits until the relay has settled, which may be a moment after the consumer has the message.
func wantEmptyOutbox(t *testing.T, db *gorm.DB) {
	t.Helper()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	rows := int64(-1)
	for end := time.Now().Add(deadline); time.Now().Before(end); <-tick.C {
		if err := db.Raw("SELECT count(*) FROM outbox_messages").Scan(&rows).Error; err != nil {
			t.Fatal(err)
		}
		if rows == 0 {
			return
		}
	}
	t.Errorf("%d messages are still stored", rows)
}

func onOwnServers(t *testing.T) (environment, *gorm.DB) {
	file := filepath.Join(t.TempDir(), "orders.db")
	return environment{"DATABASE_URL": "sqlite:" + file}, connect(t, sqlite.Open(file+sqliteOptions))
}

func onMariaDB(t *testing.T) (environment, *gorm.DB) {
	name := testservices.Name("shop")
	server := openAt(t, testservices.MariaDB(t))
	if err := server.Exec("CREATE DATABASE " + name).Error; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Exec("DROP DATABASE " + name).Error; err != nil {
			t.Errorf("remove database %s: %v", name, err)
		}
	})
	address, err := url.Parse(testservices.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/" + name
	return environment{"DATABASE_URL": address.String()}, openAt(t, address.String())
}

func openAt(t *testing.T, address string) *gorm.DB {
	t.Helper()
	dialector, _, err := chooseDatabase(address)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, dialector)
}

func onKafka(t *testing.T) (environment, *gorm.DB) {
	address, db := schema(t)
	brokers, topic := testservices.Kafka(t), testservices.Name("shop")
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		admin := kadm.NewClient(client)
		_, topicErr := admin.DeleteTopic(ctx, topic)
		_, groupErr := admin.DeleteGroup(ctx, config{topic: topic}.consumer())
		if err := errors.Join(topicErr, groupErr); err != nil {
			t.Errorf("remove the topic: %v", err)
		}
	})
	return environment{
		"DATABASE_URL": address, "BROKER_URL": "kafka://" + strings.Join(brokers, ","), "TOPIC": topic,
	}, db
}

func onRabbitMQ(t *testing.T) (environment, *gorm.DB) {
	address, db := schema(t)
	topic := testservices.Name("shop")
	connection, err := amqp091.Dial(testservices.AMQP(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		channel, err := connection.Channel()
		if err != nil {
			t.Fatal(err)
		}
		queue := config{topic: topic}.consumer()
		quorum := amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum}
		_, kindErr := channel.QueueDeclare(queue, true, false, false, false, quorum) // an error if it is of another kind
		_, queueErr := channel.QueueDelete(queue, false, false, false)
		exchangeErr := channel.ExchangeDelete(topic, false, false)
		if err := errors.Join(kindErr, queueErr, exchangeErr, connection.Close()); err != nil {
			t.Errorf("remove queue and exchange: %v", err)
		}
	})
	return environment{"DATABASE_URL": address, "BROKER_URL": testservices.AMQP(t), "TOPIC": topic}, db
}

// schema returns the address of an empty schema of PostgreSQL that is removed after the test, and a connection to it.
func schema(t *testing.T) (string, *gorm.DB) {
	t.Helper()
	name := testservices.Name("shop")
	server := connect(t, postgres.Open(testservices.Postgres(t)))
	if err := server.Exec("CREATE SCHEMA " + name).Error; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Exec("DROP SCHEMA " + name + " CASCADE").Error; err != nil {
			t.Errorf("remove schema %s: %v", name, err)
		}
	})
	address, err := url.Parse(testservices.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	parameters := address.Query()
	parameters.Set("search_path", name)
	address.RawQuery = parameters.Encode()
	return address.String(), connect(t, postgres.Open(address.String()))
}

func connect(t *testing.T, dialector gorm.Dialector) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
