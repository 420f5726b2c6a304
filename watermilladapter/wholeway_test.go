package watermilladapter_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	watermillkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/internal/testtopic"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/watermilladapter"
)

// counted is an event of a customer, numbered from 1.
type counted struct {
	Customer string `json:"customer"`
	Number   int    `json:"number"`
}

// way is how events get from the relay to the event processor.
type way struct {
	publisher  outbox.Publisher
	subscriber message.Subscriber
}

func TestWholeWay(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, topic string) way{
		"through_our_Kafka_publisher":           throughKafka,
		"through_Watermills_Kafka_publisher":    throughWatermillKafka,
		"through_Watermills_RabbitMQ_publisher": throughWatermillRabbitMQ,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := testservices.Name("wholeway")
			testWholeWay(t, topic, open(t, topic))
		})
	}
}

// testWholeWay publishes through an EventBus in transactions, some of which roll back, and receives in an
// EventProcessor, with the relay in the same router.
func testWholeWay(t *testing.T, topic string, w way) {
	const customers, each = 5, 20
	store := memstore.New(memstore.Config{})
	relay, err := outbox.NewRelay(store, w.publisher, outbox.RelayConfig{})
	if err != nil {
		t.Fatal(err)
	}
	got := &received{want: customers * each, all: make(chan struct{})}
	router := newRouter(t, watermilladapter.Plugin(relay, func(err error) { t.Errorf("relay: %v", err) }))
	process(t, router, topic, w.subscriber, got)
	ended := start(func() error { return router.Run(context.WithoutCancel(t.Context())) })
	t.Cleanup(func() {
		if err := errors.Join(router.Close(), within(t, "the router ends", ended)); err != nil {
			t.Error(err)
		}
	})
	within(t, "the router runs", router.Running())

	sent := publish(t, store, topic, customers, each)
	within(t, "all events arrive", got.all)
	got.check(t, sent)
}

// publish returns the ids of what was committed.
func publish(t *testing.T, store *memstore.Store, topic string, customers, each int) map[string]counted {
	t.Helper()
	sent := map[string]counted{}
	bus, err := cqrs.NewEventBusWithConfig(
		watermilladapter.NewPublisher(store, watermilladapter.PublisherConfig{}),
		cqrs.EventBusConfig{
			GeneratePublishTopic: func(cqrs.GenerateEventPublishTopicParams) (string, error) { return topic, nil },
			Marshaler:            cqrs.JSONMarshaler{},
			OnPublish: func(p cqrs.OnEventSendParams) error {
				event := p.Event.(counted)
				p.Message.Metadata.Set("partition_key", event.Customer)
				if event.Number > 0 {
					sent[p.Message.UUID] = event
				}
				return nil
			},
		})
	if err != nil {
		t.Fatal(err)
	}
	for n := range each {
		for c := range customers {
			event := counted{fmt.Sprint("c-", c), n + 1}
			if err := inStore(t, store, bus, event, nil); err != nil {
				t.Fatal(err)
			}
			event.Number = -event.Number
			if err := inStore(t, store, bus, event, errBroken); !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
		}
	}
	return sent
}

func inStore(t *testing.T, store *memstore.Store, bus *cqrs.EventBus, event counted, end error) error {
	t.Helper()
	return store.InTransaction(t.Context(), func(ctx context.Context) error {
		return errors.Join(bus.Publish(ctx, event), end)
	})
}

// received collects events until it has as many as wanted.
type received struct {
	want int
	all  chan struct{}

	mu     sync.Mutex
	ids    map[string]counted
	orders map[string][]int
	total  int
}

func (r *received) add(m *message.Message, event counted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil {
		r.ids, r.orders = map[string]counted{}, map[string][]int{}
	}
	r.ids[m.UUID] = event
	r.orders[event.Customer] = append(r.orders[event.Customer], event.Number)
	if r.total++; r.total == r.want {
		close(r.all)
	}
}

func (r *received) check(t *testing.T, sent map[string]counted) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(sent, r.ids); diff != "" {
		t.Errorf("events by UUID (-sent +received):\n%s", diff)
	}
	for customer, numbers := range r.orders {
		for i, n := range numbers {
			if n != i+1 {
				t.Errorf("customer %s got %v", customer, numbers)
				break
			}
		}
	}
}

func process(t *testing.T, router *message.Router, topic string, subscriber message.Subscriber, to *received) {
	t.Helper()
	processor, err := cqrs.NewEventProcessorWithConfig(router, cqrs.EventProcessorConfig{
		GenerateSubscribeTopic: func(cqrs.EventProcessorGenerateSubscribeTopicParams) (string, error) { return topic, nil },
		SubscriberConstructor: func(cqrs.EventProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return subscriber, nil
		},
		Marshaler: cqrs.JSONMarshaler{},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = processor.AddHandlers(cqrs.NewEventHandler("collect", func(ctx context.Context, event *counted) error {
		to.add(cqrs.OriginalMessageFromCtx(ctx), *event)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
}

func throughKafka(t *testing.T, topic string) way {
	brokers := makeTopic(t, topic)
	publisher, err := kafka.Open(kafka.Config{Brokers: brokers})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, publisher.Close)
	return way{publisher, subscribeKafka(t, brokers, topic)}
}

func throughWatermillKafka(t *testing.T, topic string) way {
	brokers := makeTopic(t, topic)
	producer := watermillkafka.DefaultSaramaSyncPublisherConfig()
	producer.Producer.RequiredAcks = sarama.WaitForAll
	publisher, err := watermillkafka.NewPublisher(watermillkafka.PublisherConfig{
		Brokers: brokers,
		Marshaler: watermillkafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) {
			return m.Metadata.Get("partition_key"), nil
		}),
		OverwriteSaramaConfig: producer,
	}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, publisher.Close)
	return way{watermilladapter.Sink(publisher, watermilladapter.SinkConfig{}), subscribeKafka(t, brokers, topic)}
}

func throughWatermillRabbitMQ(t *testing.T, topic string) way {
	address := testservices.AMQP(t)
	config := watermillamqp.NewDurablePubSubConfig(address, watermillamqp.GenerateQueueNameTopicName)
	config.Publish.ConfirmDelivery = true
	subscriber, err := watermillamqp.NewSubscriber(config, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, subscriber.Close)
	if err := subscriber.SubscribeInitialize(topic); err != nil {
		t.Fatal(err)
	}
	publisher, err := watermillamqp.NewPublisher(config, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, publisher.Close)
	removeFromRabbitMQ(t, address, topic)
	return way{watermilladapter.Sink(publisher, watermilladapter.SinkConfig{}), subscriber}
}

func closeAfter(t *testing.T, end func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// removeFromRabbitMQ removes exchange and queue, both of that name, after the test.
func removeFromRabbitMQ(t *testing.T, address, name string) {
	t.Helper()
	connection, err := amqp091.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, func() error {
		channel, err := connection.Channel()
		if err != nil {
			return err
		}
		_, queueErr := channel.QueueDelete(name, false, false, false)
		return errors.Join(queueErr, channel.ExchangeDelete(name, false, false), connection.Close())
	})
}

// makeTopic creates a topic that is removed after the test, and returns the brokers.
func makeTopic(t *testing.T, topic string) []string {
	t.Helper()
	brokers := testservices.Kafka(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	testtopic.Create(t, admin, topic, 4, nil)
	closeAfter(t, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		_, err := admin.DeleteGroup(ctx, topic)
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil // nobody has subscribed
		}
		return err
	})
	return brokers
}

func subscribeKafka(t *testing.T, brokers []string, topic string) message.Subscriber {
	t.Helper()
	consumer := watermillkafka.DefaultSaramaSubscriberConfig()
	consumer.Consumer.Offsets.Initial = sarama.OffsetOldest
	subscriber, err := watermillkafka.NewSubscriber(watermillkafka.SubscriberConfig{
		Brokers: brokers, ConsumerGroup: topic,
		Unmarshaler: watermillkafka.DefaultMarshaler{}, OverwriteSaramaConfig: consumer,
	}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, subscriber.Close)
	return subscriber
}
