package watermilladapter_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	watermillkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/glebarez/sqlite"
	"github.com/google/go-cmp/cmp"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

// shipment is what the handler writes.
type shipment struct {
	ID     uint `gorm:"primaryKey"`
	Events string
}

// consumer writes a shipment for each message, and fails as often as it is told to after it has written.
type consumer struct {
	*testing.T
	db    *gorm.DB
	store *gormstore.Store

	mu    sync.Mutex
	fails map[string]int // by message
	runs  map[string]int
}

func newConsumer(t *testing.T, dialector gorm.Dialector, name string) *consumer {
	t.Helper()
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, pool.Close)
	err = errors.Join(db.AutoMigrate(&shipment{}),
		gormstore.Migrate(t.Context(), db, gormstore.MigrateConfig{Name: name, Lanes: 1}))
	if err != nil {
		t.Fatal(err)
	}
	store, err := gormstore.Open(db, gormstore.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return &consumer{T: t, db: db, store: store, fails: map[string]int{}, runs: map[string]int{}}
}

func newSQLiteConsumer(t *testing.T) *consumer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app.db")
	return newConsumer(t, sqlite.Open(file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"), "")
}

// newPostgresConsumer works in a schema of its own.
func newPostgresConsumer(t *testing.T) *consumer {
	t.Helper()
	schema := testservices.Name("inbox")
	admin, err := gorm.Open(postgres.Open(testservices.Postgres(t)), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := admin.DB()
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, pool.Close)
	if err := admin.Exec("CREATE SCHEMA " + schema).Error; err != nil {
		t.Fatal(err)
	}
	closeAfter(t, func() error { return admin.Exec("DROP SCHEMA " + schema + " CASCADE").Error })
	return newConsumer(t, postgres.Open(testservices.Postgres(t)+"&search_path="+schema), "")
}

func (c *consumer) failTimes(m *message.Message, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails[m.UUID] = n
}

// handle writes before it fails, so that what it leaves behind would show.
func (c *consumer) handle(m *message.Message) error {
	tx, ok := c.store.FromContext(m.Context())
	if !ok {
		return outbox.ErrNoTransaction
	}
	if err := tx.Create(&shipment{Events: m.UUID}).Error; err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[m.UUID]++
	if c.fails[m.UUID] > 0 {
		c.fails[m.UUID]--
		return errBroken
	}
	return nil
}

// shipped returns how many shipments each message has.
func (c *consumer) shipped() map[string]int {
	c.Helper()
	var rows []shipment
	if err := c.db.Find(&rows).Error; err != nil {
		c.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range rows {
		got[r.Events]++
	}
	return got
}

func (c *consumer) wantShipped(messages ...*message.Message) {
	c.Helper()
	want := map[string]int{}
	for _, m := range messages {
		want[m.UUID] = 1
	}
	if diff := cmp.Diff(want, c.shipped()); diff != "" {
		c.Errorf("shipments by message (-want +got):\n%s", diff)
	}
}

// eventually waits for a condition that a router brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); !condition(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, deadline)
		}
	}
}

// runRouter runs until the test ends.
func runRouter(t *testing.T, router *message.Router) {
	t.Helper()
	ended := start(func() error { return router.Run(context.WithoutCancel(t.Context())) })
	closeAfter(t, func() error { return errors.Join(router.Close(), within(t, "the router ends", ended)) })
	within(t, "the router runs", router.Running())
}

func plainMessage() *message.Message { return message.NewMessage(watermill.NewUUID(), []byte("{}")) }

// in is m as a router hands it to the handler of that name.
func in(ctx context.Context, m *message.Message) *message.Message {
	c := m.Copy()
	c.SetContext(ctx)
	return c
}

func TestInbox(t *testing.T) {
	t.Parallel()

	t.Run("hands_a_message_on_once_and_acknowledges_it_again", func(t *testing.T) {
		t.Parallel()
		c, m := newSQLiteConsumer(t), plainMessage()
		config := watermilladapter.InboxConfig{Handler: func(*message.Message) string { return "ship" }}
		h := watermilladapter.Inbox(c.store, config)(noProduce(c.handle))
		for range 3 {
			delivery := in(t.Context(), m)
			if _, err := h(delivery); err != nil {
				t.Error(err)
			}
			if delivery.Context() != t.Context() {
				t.Error("the message keeps the context of a transaction that has ended")
			}
		}
		c.wantShipped(m)
	})

	t.Run("asks_for_a_name_outside_of_a_router_and_for_an_id", func(t *testing.T) {
		t.Parallel()
		c := newSQLiteConsumer(t)
		h := watermilladapter.Inbox(c.store, watermilladapter.InboxConfig{})(noProduce(c.handle))
		_, err := h(in(t.Context(), plainMessage()))
		if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Field != "Handler" {
			t.Errorf("without a name: got %v, want a FieldError", err)
		}
		named := watermilladapter.InboxConfig{Handler: func(*message.Message) string { return "ship" }}
		_, err = watermilladapter.Inbox(c.store, named)(noProduce(c.handle))(message.NewMessage("", nil))
		if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Field != "ID" {
			t.Errorf("without an id: got %v, want a FieldError", err)
		}
		c.wantShipped()
	})

	t.Run("refuses_a_handler_that_lets_the_router_publish_and_rolls_it_back", func(t *testing.T) {
		t.Parallel()
		c := newSQLiteConsumer(t)
		named := watermilladapter.InboxConfig{Handler: func(*message.Message) string { return "ship" }}
		h := watermilladapter.Inbox(c.store, named)(func(m *message.Message) ([]*message.Message, error) {
			return []*message.Message{plainMessage()}, c.handle(m)
		})
		produced, err := h(in(t.Context(), plainMessage()))
		if !errors.Is(err, watermilladapter.ErrProduced) || produced != nil {
			t.Errorf("got %v, %v, want ErrProduced", produced, err)
		}
		c.wantShipped()
	})

	t.Run("leaves_nothing_of_a_handler_that_panics", func(t *testing.T) {
		t.Parallel()
		c, m := newSQLiteConsumer(t), plainMessage()
		named := watermilladapter.InboxConfig{Handler: func(*message.Message) string { return "ship" }}
		inbox := watermilladapter.Inbox(c.store, named)
		panics := inbox(func(m *message.Message) ([]*message.Message, error) {
			_ = c.handle(m)
			panic("boom")
		})
		if _, err := middleware.Recoverer(panics)(in(t.Context(), m)); err == nil {
			t.Error("the panic was lost")
		}
		c.wantShipped()
		if _, err := inbox(noProduce(c.handle))(in(t.Context(), m)); err != nil {
			t.Error(err)
		}
		c.wantShipped(m)
	})

	t.Run("lets_a_poison_queue_take_what_always_fails_and_handles_it_when_it_comes_back", func(t *testing.T) {
		t.Parallel()
		c, m, next := newSQLiteConsumer(t), plainMessage(), plainMessage()
		c.failTimes(m, 1+2)
		broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
		closeAfter(t, broker.Close)
		poison, err := middleware.PoisonQueue(broker, "poison")
		if err != nil {
			t.Fatal(err)
		}
		router := newRouter(t)
		retry := middleware.Retry{MaxRetries: 2, InitialInterval: time.Millisecond, Logger: watermill.NopLogger{}}
		router.AddMiddleware(poison, retry.Middleware, watermilladapter.Inbox(c.store, watermilladapter.InboxConfig{}))
		router.AddConsumerHandler("ship", "orders", broker, c.handle)
		runRouter(t, router)
		poisoned, err := broker.Subscribe(t.Context(), "poison")
		if err != nil {
			t.Fatal(err)
		}

		if err := broker.Publish("orders", m, next); err != nil {
			t.Fatal(err)
		}
		aside := within(t, "the message is set aside", poisoned)
		aside.Ack()
		eventually(t, "the next message is shipped", func() bool { return len(c.shipped()) == 1 })
		c.wantShipped(next)
		if aside.UUID != m.UUID || c.runs[m.UUID] != 3 {
			t.Errorf("message %s was set aside after %d runs, want %s after 3", aside.UUID, c.runs[m.UUID], m.UUID)
		}

		for range 2 { // the reason is mended
			if err := broker.Publish("orders", aside.Copy()); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the message is shipped", func() bool { return len(c.shipped()) == 2 })
		c.wantShipped(next, m)
	})
}

func noProduce(h message.NoPublishHandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) { return nil, h(m) }
}

// TestInboxOnBrokers: a broker delivers a message again that was refused, and a relay may send one twice.
func TestInboxOnBrokers(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(t *testing.T, topic string) (message.Publisher, message.Subscriber){
		"Kafka": kafkaPair, "RabbitMQ": rabbitMQPair,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("handles_once_what_comes_again_and_again", func(t *testing.T) {
				topic := testservices.Name("inbox")
				publisher, subscriber := connect(t, topic)
				c := newPostgresConsumer(t)
				refused, twice, last := plainMessage(), plainMessage(), plainMessage()
				c.failTimes(refused, 2)
				router := newRouter(t)
				router.AddMiddleware(watermilladapter.Inbox(c.store, watermilladapter.InboxConfig{}))
				router.AddConsumerHandler("ship", topic, subscriber, c.handle)
				runRouter(t, router)

				for _, m := range []*message.Message{refused, twice, twice, refused, last} {
					if err := publisher.Publish(topic, m.Copy()); err != nil {
						t.Fatal(err)
					}
				}
				eventually(t, "all are shipped", func() bool { return len(c.shipped()) == 3 })
				for range 2 { // and what comes after everything else is done
					end := plainMessage()
					if err := publisher.Publish(topic, twice.Copy(), refused.Copy(), end); err != nil {
						t.Fatal(err)
					}
					eventually(t, "the end is shipped", func() bool { return c.shipped()[end.UUID] == 1 })
					c.forget(end)
				}
				c.wantShipped(refused, twice, last)
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.runs[refused.UUID] != 3 || c.runs[twice.UUID] != 1 || c.runs[last.UUID] != 1 {
					t.Errorf("runs by message: %v, want 3 of the refused one and 1 of the others", c.runs)
				}
			})
		})
	}
}

// forget removes a shipment.
func (c *consumer) forget(m *message.Message) {
	c.Helper()
	if err := c.db.Delete(&shipment{}, "events = ?", m.UUID).Error; err != nil {
		c.Fatal(err)
	}
}

func kafkaPair(t *testing.T, topic string) (message.Publisher, message.Subscriber) {
	t.Helper()
	brokers := makeTopic(t, topic)
	publisher, err := watermillkafka.NewPublisher(watermillkafka.PublisherConfig{
		Brokers: brokers, // one key, one partition, one order
		Marshaler: watermillkafka.NewWithPartitioningMarshaler(func(string, *message.Message) (string, error) {
			return "k", nil
		}),
	}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, publisher.Close)
	return publisher, subscribeKafka(t, brokers, topic)
}

func rabbitMQPair(t *testing.T, topic string) (message.Publisher, message.Subscriber) {
	t.Helper()
	address := testservices.AMQP(t)
	config := watermillamqp.NewDurablePubSubConfig(address, watermillamqp.GenerateQueueNameTopicName)
	config.Publish.ConfirmDelivery = true
	subscriber, err := watermillamqp.NewSubscriber(config, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, subscriber.Close)
	publisher, err := watermillamqp.NewPublisher(config, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, publisher.Close)
	removeFromRabbitMQ(t, address, topic)
	return publisher, subscriber
}
