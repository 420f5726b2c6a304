package kafka_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	nowhere := []string{"127.0.0.1:1"}

	for _, c := range []struct {
		name, field string
		config      kafka.Config
	}{
		{"no_brokers", "Brokers", kafka.Config{}},
		{"a_limit_above_64_MiB", "MaxMessageBytes", kafka.Config{Brokers: nowhere, MaxMessageBytes: 1 << 30}},
		{"a_limit_below_1_KiB", "MaxMessageBytes", kafka.Config{Brokers: nowhere, MaxMessageBytes: 100}},
		{"a_negative_time", "DeliveryTimeout", kafka.Config{Brokers: nowhere, DeliveryTimeout: -time.Second}},
		{"a_time_without_a_unit", "RequestTimeout", kafka.Config{Brokers: nowhere, RequestTimeout: 5}},
		{"an_hour_for_the_network", "NetworkTimeout", kafka.Config{Brokers: nowhere, NetworkTimeout: time.Hour}},
	} {
		t.Run("refuses_"+c.name, func(t *testing.T) {
			t.Parallel()
			_, err := kafka.Open(c.config)
			if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Field != c.field {
				t.Errorf("Open = %v, want a FieldError of %s", err, c.field)
			}
		})
	}

	for name, c := range map[string]struct {
		option kgo.Opt
		says   string
	}{
		"no_idempotence":            {kgo.DisableIdempotentWrite(), "idempotent"},
		"transactions":              {kgo.TransactionalID("x"), "transactional"},
		"one_topic_for_all":         {kgo.DefaultProduceTopicAlways(), "DefaultProduceTopicAlways"},
		"an_option_of_wrong_bounds": {kgo.ConnIdleTimeout(time.Nanosecond), "create a client"},
	} {
		t.Run("refuses_client_options_with_"+name, func(t *testing.T) {
			t.Parallel()
			_, err := kafka.Open(kafka.Config{Brokers: nowhere, ClientOptions: []kgo.Opt{c.option}})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Open = %v, want an error that says %q", err, c.says)
			}
		})
	}

	t.Run("overrules_client_options_that_would_lose_or_reorder", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs(), ClientOptions: []kgo.Opt{
			kgo.RequiredAcks(kgo.NoAck()), kgo.MaxBufferedRecords(10), kgo.MaxBufferedBytes(1000), kgo.RecordRetries(1),
			kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(time.Minute),
			kgo.MaxProduceRequestsInflightPerBroker(5), kgo.ProducerBatchMaxBytes(600),
		}})
		requests := make(chan *kmsg.ProduceRequest, 100)
		cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
			if p, ok := r.(*kmsg.ProduceRequest); ok {
				requests <- p
			}
			return nil, nil, false
		})
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 1, 200)))
		close(requests)
		partitions := make(map[int32]bool)
		for r := range requests {
			if r.Acks != -1 {
				t.Errorf("acks = %d, want -1, all replicas", r.Acks)
			}
			for _, p := range r.Topics[0].Partitions {
				partitions[p.Partition] = true
				var batch kmsg.RecordBatch
				if err := batch.ReadFrom(p.Records); err != nil || batch.ProducerID < 0 {
					t.Errorf("producer id = %d (%v), want an idempotent producer", batch.ProducerID, err)
				}
			}
		}
		if len(partitions) != 1 {
			t.Errorf("one key went to %d partitions", len(partitions))
		}
	})

	t.Run("needs_no_broker", func(t *testing.T) {
		t.Parallel()
		p := open(t, kafka.Config{Brokers: nowhere, Logger: slog.New(slog.DiscardHandler)})
		if !p.KeyOrdered() || !outbox.KeyOrdered(p) {
			t.Error("KeyOrdered is false")
		}
	})

	t.Run("logs_in_with_SASL", func(t *testing.T) {
		t.Parallel()
		user := kfake.Superuser("PLAIN", "user", "secret")
		cluster, err := kfake.NewCluster(kfake.EnableSASL(), user, kfake.SeedTopics(1, "a"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		config := kafka.Config{Brokers: cluster.ListenAddrs(), DeliveryTimeout: time.Second}
		config.SASL = []sasl.Mechanism{plain.Auth{User: "user", Pass: "secret"}.AsMechanism()}
		wantAllAccepted(t, open(t, config).Publish(within(t, patience), keyed("a", 1, 1)))

		config.SASL = []sasl.Mechanism{plain.Auth{User: "user", Pass: "wrong"}.AsMechanism()}
		wantClass(t, open(t, config).Publish(within(t, patience), keyed("a", 1, 1))[0], outbox.ClassUnavailable)
	})
}
