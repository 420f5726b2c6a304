package watermilladapter_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	watermillkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

type Order struct{ ID, Customer string }

type OrderPlaced struct{ OrderID, Customer string }

type Shipment struct{ OrderID string }

// An EventBus whose events are published if, and only if, the order is stored.
func ExampleNewPublisher() {
	run := func(ctx context.Context, store *gormstore.Store, order Order) error {
		publisher := watermilladapter.NewPublisher(store, watermilladapter.PublisherConfig{KeyMetadata: "customer"})
		bus, err := cqrs.NewEventBusWithConfig(publisher, cqrs.EventBusConfig{
			GeneratePublishTopic: func(cqrs.GenerateEventPublishTopicParams) (string, error) { return "orders", nil },
			Marshaler:            cqrs.JSONMarshaler{GenerateName: cqrs.StructName},
			OnPublish: func(p cqrs.OnEventSendParams) error {
				if placed, ok := p.Event.(OrderPlaced); ok {
					p.Message.Metadata.Set("customer", placed.Customer) // a customer's events stay in order
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
		return store.Transaction(ctx, func(tx *gormstore.Tx) error {
			if err := tx.Create(&order).Error; err != nil {
				return err
			}
			return bus.Publish(tx.Context(), OrderPlaced{OrderID: order.ID, Customer: order.Customer})
		})
	}
	_ = run
}

// A relay that publishes through Watermill's own Kafka publisher and runs as long as a router does.
func ExampleSink() {
	run := func(ctx context.Context, db *gorm.DB, router *message.Router) error {
		store, err := gormstore.Open(db, gormstore.Config{})
		if err != nil {
			return err
		}
		producer := watermillkafka.DefaultSaramaSyncPublisherConfig()
		producer.Producer.RequiredAcks = sarama.WaitForAll // accepted is what every replica has
		publisher, err := watermillkafka.NewPublisher(watermillkafka.PublisherConfig{
			Brokers:               []string{"localhost:9092"},
			OverwriteSaramaConfig: producer,
			Marshaler: watermillkafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) {
				return m.Metadata.Get("partition_key"), nil
			}),
		}, watermill.NewSlogLogger(slog.Default()))
		if err != nil {
			return err
		}
		sink := watermilladapter.Sink(publisher, watermilladapter.SinkConfig{})
		relay, err := outbox.NewRelay(store, sink, outbox.RelayConfig{})
		if err != nil {
			return err
		}
		router.AddPlugin(watermilladapter.Plugin(relay, func(err error) {
			slog.Error("relay ended", "error", err)
		}))
		return errors.Join(router.Run(ctx), publisher.Close())
	}
	_ = run
}

// The outbox as the only message system of a process: what a transaction stores, handlers of the same process get, in
// order and again until they have handled it.
func ExampleSubscriber() {
	run := func(ctx context.Context, store *gormstore.Store, router *message.Router) error {
		subscriber := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		relay, err := outbox.NewRelay(store, subscriber, outbox.RelayConfig{})
		if err != nil {
			return err
		}
		router.AddPlugin(watermilladapter.Plugin(relay, func(err error) {
			slog.Error("relay ended", "error", err)
		}))
		router.AddConsumerHandler("ship", "orders", subscriber, func(m *message.Message) error {
			slog.Info("order to ship", "id", m.UUID) // an error or a panic brings it back
			return nil
		})
		return router.Run(ctx)
	}
	_ = run
}

// A consumer that gets a message twice and ships once: what the handler writes commits together with the note that the
// message was handled.
func ExampleInbox() {
	ctx := context.Background()
	db, err := gorm.Open(sqlite.Open(":memory:?_pragma=busy_timeout(1000)"))
	if err != nil {
		panic(err)
	}
	pool, err := db.DB()
	if err != nil {
		panic(err)
	}
	pool.SetMaxOpenConns(1) // the database lives in its one connection
	if err := errors.Join(db.AutoMigrate(&Shipment{}), gormstore.Migrate(ctx, db, gormstore.MigrateConfig{})); err != nil {
		panic(err)
	}
	store, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		panic(err)
	}

	// A router gets it by AddMiddleware, behind what retries.
	once := watermilladapter.Inbox(store, watermilladapter.InboxConfig{
		Handler: func(*message.Message) string { return "shipping" },
	})
	ship := once(func(m *message.Message) ([]*message.Message, error) {
		tx, _ := store.FromContext(m.Context()) // the transaction of the inbox
		return nil, tx.Create(&Shipment{OrderID: string(m.Payload)}).Error
	})
	for range 2 {
		_, err := ship(message.NewMessage("0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a10", []byte("o-1")))
		var shipments int64
		fmt.Println(errors.Join(err, db.Model(&Shipment{}).Count(&shipments).Error), shipments)
	}
	// Output:
	// <nil> 1
	// <nil> 1
}
