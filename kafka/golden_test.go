package kafka_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/internal/golden"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// TestGolden holds what a consumer of the real broker reads, in each mode, against testdata/wire.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]cloudevents.Mode{
		"plain": cloudevents.Off, "binary": cloudevents.Binary, "structured": cloudevents.Structured,
	} {
		t.Run("a_consumer_reads_messages_that_are_"+name, func(t *testing.T) {
			t.Parallel()
			brokers, topic := testservices.Kafka(t), realTopic(t, 1, nil)
			messages := variants(topic)
			p := open(t, kafka.Config{Brokers: brokers, CloudEvents: cloudevents.Config{Mode: mode, Source: "/shop"}})
			wantAllAccepted(t, p.Publish(within(t, patience), messages))
			golden.Check(t, "wire/"+name, renderAll(logs(t, brokers, topic)))
		})
	}

	t.Run("an_event_that_cannot_be_encoded_is_permanent_and_holds_its_key", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		events := cloudevents.Config{Mode: cloudevents.Binary, Source: "/shop"}
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs(), CloudEvents: events})
		messages := []*outbox.Message{message("a", "k", 1), message("a", "k", 2), message("a", "l", 3)}
		messages[0].Type = "line\nbreak"
		results := p.Publish(within(t, patience), messages)
		wantClass(t, results[0], outbox.ClassPermanent)
		wantZero(t, results[1])
		wantAllAccepted(t, results[2:])
	})
}

// variants are a message with everything, one of bytes without a key, a tombstone, and an empty one.
func variants(topic string) []*outbox.Message {
	all := []*outbox.Message{full(topic), full(topic), full(topic), full(topic)}
	all[1].Key, all[1].Payload, all[1].ContentType = "", []byte{0, 255, 10}, "application/octet-stream"
	all[2].Payload = nil
	all[3].Payload = []byte{}
	for i, m := range all {
		m.ID = uuid.MustParse(fmt.Sprintf("0198c2a4-7d1e-7b5a-9c3f-%012d", i+1))
	}
	return all
}

func renderAll(records []*kgo.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "key %s\n", quoted(r.Key))
		for _, h := range r.Headers {
			fmt.Fprintf(&b, "header %s %s\n", h.Key, quoted(h.Value))
		}
		fmt.Fprintf(&b, "value %s\n\n", quoted(r.Value))
	}
	return b.String()
}

// quoted tells nothing from something empty.
func quoted(b []byte) string {
	if b == nil {
		return "none"
	}
	return fmt.Sprintf("%q", b)
}
