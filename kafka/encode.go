package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/outbox"
)

// fresh is the partition of a record that was not sent yet.
const fresh = -1

// encode returns what goes out for m. It shares the payload with m. Its timestamp is the time of the send.
func encode(m *outbox.Message) *kgo.Record {
	r := &kgo.Record{Topic: m.Topic, Value: m.Payload, Headers: encodeHeaders(m), Partition: fresh}
	if m.Key != "" { // an empty key that is not nil would pull all messages without a key into one partition
		r.Key = []byte(m.Key)
	}
	return r
}

// encodeHeaders keeps the order and the duplicates. All values share one array.
func encodeHeaders(m *outbox.Message) []kgo.RecordHeader {
	wire := outbox.WireHeaders(m)
	size := 0
	for _, h := range wire {
		size += len(h.Value)
	}
	values := make([]byte, 0, size)
	headers := make([]kgo.RecordHeader, len(wire))
	for i, h := range wire {
		from := len(values)
		values = append(values, h.Value...)
		headers[i] = kgo.RecordHeader{Key: h.Name, Value: values[from:len(values):len(values)]}
	}
	return headers
}
