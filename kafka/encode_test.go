package kafka

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// FuzzEncode: the messages of one call share memory, and each record has what its own message says all the same.
func FuzzEncode(f *testing.F) {
	f.Add("orders", "a", "order.placed", "x", "1", "", "y", "2", []byte("{}"))
	f.Add("t", "", "", "", "", "k", "type", "forged", []byte(nil))
	f.Add("t", "k", "t", "traceparent", "\xff\x00", "k", "traceparent", "\xff\x00", []byte{})
	f.Fuzz(func(t *testing.T, topic, key, kind, name, value, key2, name2, value2 string, payload []byte) {
		var messages []*outbox.Message
		for i := range 3 {
			m := &outbox.Message{Topic: topic, Key: key, Type: kind, Version: 1, Payload: payload}
			if i > 0 {
				m.Key, m.Headers = key2, []outbox.Header{{Name: name, Value: value}}
			}
			if i > 1 {
				m.Type, m.Headers = value2, append(m.Headers, outbox.Header{Name: name2, Value: value2})
			}
			messages = append(messages, m)
		}
		records, refused := encode(cloudevents.Config{}, messages...)
		if len(refused) > 0 {
			t.Fatalf("refused: %v", refused)
		}
		for i, m := range messages {
			var want []kgo.RecordHeader
			for _, h := range outbox.WireHeaders(m) {
				want = append(want, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
			}
			if diff := cmp.Diff(want, records[i].Headers); diff != "" {
				t.Fatalf("headers of record %d (-want +got):\n%s", i, diff)
			}
			if string(records[i].Key) != m.Key || (records[i].Key == nil) != (m.Key == "") || records[i].Topic != m.Topic {
				t.Fatalf("record %d is of topic %q and key %q", i, records[i].Topic, records[i].Key)
			}
		}
	})
}
