package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// fresh is the partition of a record that was not sent yet.
const fresh = -1

// encode returns what goes out for messages, with whom it shares their payloads, and why some cannot. A record's
// timestamp is the time of its send.
func encode(events cloudevents.Config, messages ...*outbox.Message) ([]*kgo.Record, map[int]error) {
	var refused map[int]error
	text := &arena{size: min(64<<10, 256*len(messages))}
	all := make([]kgo.Record, len(messages))
	records := make([]*kgo.Record, len(messages))
	for i, m := range messages {
		r := &all[i]
		wire, err := events.Encode(m, cloudevents.KafkaPrefix)
		if err != nil {
			refused = refuse(refused, i, err)
		}
		r.Topic, r.Value, r.Headers, r.Partition = m.Topic, wire.Body, encodeHeaders(text, wire.Headers), fresh
		if m.Key != "" { // an empty key that is not nil would pull all messages without a key into one partition
			r.Key = text.copy(m.Key)
		}
		records[i] = r
	}
	return records, refused
}

func refuse(refused map[int]error, i int, err error) map[int]error {
	if refused == nil {
		refused = make(map[int]error)
	}
	refused[i] = err
	return refused
}

// encodeHeaders keeps the order and the duplicates.
func encodeHeaders(text *arena, wire []outbox.Header) []kgo.RecordHeader {
	headers := make([]kgo.RecordHeader, len(wire))
	for i, h := range wire {
		headers[i] = kgo.RecordHeader{Key: h.Name, Value: text.copy(h.Value)}
	}
	return headers
}

// arena makes copies of strings in blocks of size bytes, because a call makes thousands of short ones.
type arena struct {
	size  int
	block []byte
}

// copy returns s as bytes, not nil even if s is empty: a header without a value is not one with an empty value.
func (a *arena) copy(s string) []byte {
	if a.block == nil || len(s) > cap(a.block)-len(a.block) {
		a.block = make([]byte, 0, max(a.size, len(s)))
	}
	from := len(a.block)
	a.block = append(a.block, s...)
	return a.block[from:len(a.block):len(a.block)]
}
