package watermilladapter_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	watermillkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/publishertest"
	"github.com/postroom/postroom/watermilladapter"
)

// sinkFaults are the behaviours that a Sink over Watermill's publishers does not show, and what is said then. The
// comment of Sink tells users of them. They are tried all the same: one that holds after all fails the test.
var sinkFaults = map[string]map[string]string{
	"RabbitMQ": {
		"fails_a_missing_destination_alone_and_not_for_good": "got accepted true",
		"refuses_a_poison_message_alone":                     "want a refusal that is about the message",
		"stops_a_key_at_its_first_failure_if_it_says_so":     "is in the broker and was not reported as accepted",
	},
}

// faultsAreReal is set in the process that runs a case to see it fail.
const faultsAreReal = "POSTROOM_SINK_FAULT"

func TestSinkConformance(t *testing.T) {
	t.Parallel()
	for broker, subject := range map[string]func(t *testing.T) publishertest.Subject{
		"Kafka": kafkaSubject, "RabbitMQ": rabbitMQSubject,
	} {
		t.Run("over_Watermills_publisher_for_"+broker, func(t *testing.T) {
			t.Parallel()
			for _, c := range publishertest.Cases() {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					if why, known := sinkFaults[broker][c.Name]; known && os.Getenv(faultsAreReal) == "" {
						wantFailure(t, why)
						return
					}
					c.Check(t, subject(t))
				})
			}
		})
	}
}

// wantFailure runs the present test in other processes, and wants it to fail with the given words, at the latest the
// twentieth time: some faults take a race, and some runs end with a data race of Watermill's publisher before.
func wantFailure(t *testing.T, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	var out []byte
	for range 20 {
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run="+pattern)
		cmd.Env = append(os.Environ(), faultsAreReal+"=1")
		var err error
		out, err = cmd.CombinedOutput()
		if err != nil && strings.Contains(string(out), "--- FAIL: "+t.Name()) && strings.Contains(string(out), why) {
			return
		}
	}
	t.Errorf("want a failure with %q; if that fault is gone, take it from the list and from the comment of Sink:\n%s",
		why, out)
}

func kafkaSubject(t *testing.T) publishertest.Subject {
	brokers := testservices.Kafka(t)
	config := watermillkafka.DefaultSaramaSyncPublisherConfig()
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.MaxMessageBytes = 20_000
	config.Metadata.Retry.Max = 1
	publisher, err := watermillkafka.NewPublisher(watermillkafka.PublisherConfig{
		Brokers: brokers, OverwriteSaramaConfig: config,
		Marshaler: watermillkafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) {
			return m.Metadata.Get("partition_key"), nil
		}),
	}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, publisher.Close)
	return publishertest.Subject{
		Publisher: watermilladapter.Sink(publisher, watermilladapter.SinkConfig{Classify: classifySarama}),
		Topic: func(t *testing.T) string {
			topic := testservices.Name("sink")
			makeTopic(t, topic)
			return topic
		},
		Missing: testservices.Name("missing"),
		Poison:  func(topic string) *outbox.Message { return poison(topic, strings.Repeat("x", 30_000)) },
		Read: func(t *testing.T, topic string, n int) []publishertest.Received {
			return readKafka(t, brokers, topic, n)
		},
	}
}

// classifySarama tells a message that is too large from an outage.
func classifySarama(err error) error {
	if errors.Is(err, sarama.ErrMessageSizeTooLarge) {
		return outbox.Permanent(err)
	}
	var configuration sarama.ConfigurationError // what sarama says of a message above its own limit
	if errors.As(err, &configuration) {
		return outbox.Permanent(err)
	}
	return outbox.Unknown(err)
}

func poison(topic, payload string) *outbox.Message {
	return &outbox.Message{ID: uuid.New(), Topic: topic, Type: "Poison", Version: 1, Payload: []byte(payload)}
}

func readKafka(t *testing.T, brokers []string, topic string, n int) (all []publishertest.Received) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	ends.Each(func(o kadm.ListedOffset) { held += int(o.Offset) })
	if held < n {
		t.Fatalf("topic %s holds %d records, want %d", topic, held, n)
	}
	for len(all) < held {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("read %d of %d records", len(all), held)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			one := publishertest.Received{Payload: r.Value, Headers: map[string]string{}}
			for _, h := range r.Headers {
				one.Headers[h.Key] = string(h.Value)
			}
			one.ID = uuid.MustParse(one.Headers[outbox.HeaderID])
			all = append(all, one)
		})
	}
	return all
}

func rabbitMQSubject(t *testing.T) publishertest.Subject {
	address := testservices.AMQP(t)
	config := watermillamqp.NewDurablePubSubConfig(address, watermillamqp.GenerateQueueNameTopicName)
	config.Publish.ConfirmDelivery, config.Publish.Mandatory = true, true
	publisher, err := watermillamqp.NewPublisher(config, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, publisher.Close)
	missing := testservices.Name("missing")
	removeFromRabbitMQ(t, address, missing)
	return publishertest.Subject{
		Publisher: watermilladapter.Sink(publisher, watermilladapter.SinkConfig{}),
		Topic: func(t *testing.T) string {
			topic := testservices.Name("sink")
			bindQueue(t, address, topic)
			return topic
		},
		Missing: missing,
		Poison: func(topic string) *outbox.Message {
			m := poison(topic, "")
			m.Headers = []outbox.Header{{Name: strings.Repeat("x", 300), Value: "a name of 300 bytes"}}
			return m
		},
		Read: func(t *testing.T, topic string, n int) []publishertest.Received {
			return readRabbitMQ(t, address, topic, n)
		},
		LosesNil: true,
	}
}

// bindQueue declares an exchange and a queue, both of that name, for the time of the test.
func bindQueue(t *testing.T, address, name string) {
	t.Helper()
	removeFromRabbitMQ(t, address, name)
	channel := channelTo(t, address)
	_, err := channel.QueueDeclare(name, true, false, false, false, nil)
	err = errors.Join(err, channel.ExchangeDeclare(name, "fanout", true, false, false, false, nil),
		channel.QueueBind(name, "", name, false, nil))
	if err != nil {
		t.Fatal(err)
	}
}

func channelTo(t *testing.T, address string) *amqp091.Channel {
	t.Helper()
	connection, err := amqp091.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, connection.Close)
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return channel
}

func readRabbitMQ(t *testing.T, address, queue string, n int) (all []publishertest.Received) {
	t.Helper()
	channel := channelTo(t, address)
	for {
		d, ok, err := channel.Get(queue, true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		one := publishertest.Received{Payload: d.Body, Headers: map[string]string{}}
		for name, value := range d.Headers {
			one.Headers[name], _ = value.(string)
		}
		one.ID = uuid.MustParse(one.Headers[outbox.HeaderID])
		all = append(all, one)
	}
	if len(all) < n {
		t.Fatalf("queue %s holds %d messages, want %d", queue, len(all), n)
	}
	return all
}
