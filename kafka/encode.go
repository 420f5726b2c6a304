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
	e := encoder{text: arena{size: min(16<<10, 192*len(messages))}}
	all := make([]kgo.Record, len(messages))
	records := make([]*kgo.Record, len(messages))
	refused := make(map[int]error)
	for i, m := range messages {
		r := &all[i]
		records[i] = r
		r.Topic, r.Partition = m.Topic, fresh
		if m.Key != "" { // an empty key that is not nil would pull all messages without a key into one partition
			r.Key = e.text.copy(m.Key)
		}
		wire, err := events.Encode(m, cloudevents.KafkaPrefix, e.scratch)
		if err != nil {
			refused[i] = err
			continue
		}
		e.scratch = wire.Headers
		r.Value, r.Headers = wire.Body, e.headers(wire.Headers, len(messages)-i)
	}
	return records, refused
}

// encoder makes the records of one call. They share memory: a call makes thousands of short texts and lists.
type encoder struct {
	text    arena
	scratch []outbox.Header
	block   []kgo.RecordHeader // that later lists are cut from
	last    []kgo.RecordHeader // of the record before
}

// headers keeps the order and the duplicates. Room is made for left lists of that length. A value that the record
// before has at the same place is not copied again: most have the same type and content type.
func (e *encoder) headers(wire []outbox.Header, left int) []kgo.RecordHeader {
	if len(wire) > len(e.block) {
		e.block = make([]kgo.RecordHeader, len(wire)*min(left, 64))
	}
	headers := e.block[:len(wire):len(wire)]
	e.block = e.block[len(wire):]
	for i, h := range wire {
		if i < len(e.last) && string(e.last[i].Value) == h.Value {
			headers[i] = kgo.RecordHeader{Key: h.Name, Value: e.last[i].Value}
			continue
		}
		headers[i] = kgo.RecordHeader{Key: h.Name, Value: e.text.copy(h.Value)}
	}
	e.last = headers
	return headers
}

// arena makes copies of strings in blocks of size bytes.
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
