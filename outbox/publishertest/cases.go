package publishertest

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Cases returns all behaviours.
func Cases() []Case {
	return []Case{
		{
			Name:     "answers_for_each_message_in_the_order_given",
			Contract: "Publish returns one Result per message, in the order given, and an accepted message is in the broker.",
			Check:    checkAnswers,
		},
		{
			Name:     "takes_an_empty_call",
			Contract: "No messages are no work: an empty slice of results.",
			Check: func(t *testing.T, s Subject) {
				if got := s.Publisher.Publish(t.Context(), nil); len(got) != 0 {
					t.Errorf("got %d results, want none", len(got))
				}
			},
		},
		{
			Name:     "sends_bytes_id_and_headers_as_they_are",
			Contract: "The broker gets the payload's bytes, and the headers of outbox.WireHeaders, the id among them.",
			Check:    checkWire,
		},
		{
			Name:     "leaves_its_messages_alone",
			Contract: "A publisher neither changes nor keeps what it was given.",
			Check:    checkUntouched,
		},
		{
			Name:     "keeps_a_key_in_order",
			Contract: "The accepted messages of a key are in the broker in the order given.",
			Check:    checkOrder,
		},
		{
			Name:     "refuses_a_poison_message_alone",
			Contract: "A message that cannot be taken fails alone: messages of other keys are accepted.",
			Check:    checkPoison,
		},
		{
			Name:     "stops_a_key_at_its_first_failure_if_it_says_so",
			Contract: "The accepted messages of a topic and key are a prefix of those given, for a publisher that is KeyOrdered.",
			Check:    checkPrefix,
		},
		{
			Name:     "fails_a_missing_destination_alone_and_not_for_good",
			Contract: "A destination that is not there fails its own messages only, and never permanently: it may be made.",
			Check:    checkMissing,
		},
		{
			Name:     "serves_calls_side_by_side",
			Contract: "Several calls may run at once, and each message arrives once.",
			Check:    checkSideBySide,
		},
		{
			Name:     "hands_over_nothing_once_its_context_has_ended",
			Contract: "With an ended context nothing is handed over and nothing is accepted.",
			Check:    checkEnded,
		},
	}
}

func message(topic, key, payload string) *outbox.Message {
	return &outbox.Message{
		ID: uuid.Must(uuid.NewV7()), Topic: topic, Key: key, Type: "OrderPlaced", Version: 1,
		ContentType: "text/plain", Payload: []byte(payload), CreatedAt: time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC),
	}
}

func wantAccepted(t *testing.T, results []outbox.Result, n int) {
	t.Helper()
	if len(results) != n {
		t.Fatalf("got %d results for %d messages", len(results), n)
	}
	for i, r := range results {
		if !r.Accepted() {
			t.Errorf("message %d: got %v, want accepted", i, r.Err())
		}
	}
}

// read is what the subject returns, held to what a Subject has to.
func (s Subject) read(t *testing.T, topic string, n int) []Received {
	t.Helper()
	received := s.Read(t, topic, n)
	if len(received) < n {
		t.Fatalf("Subject.Read returned %d messages, want at least %d: it has to wait until they are there", len(received), n)
	}
	for _, r := range received {
		if r.ID == uuid.Nil {
			t.Fatalf("Subject.Read returned a message without ID: take it from the header %s (outbox.HeaderID), "+
				"which Publish has to send; its headers are %q", outbox.HeaderID, r.Headers)
		}
	}
	return received
}

func ids(received []Received) map[uuid.UUID]int {
	count := make(map[uuid.UUID]int)
	for _, r := range received {
		count[r.ID]++
	}
	return count
}

func checkAnswers(t *testing.T, s Subject) {
	topic := s.Topic(t)
	var ms []*outbox.Message
	for i := range 500 {
		ms = append(ms, message(topic, fmt.Sprint("key", i%50), fmt.Sprint(i)))
	}
	wantAccepted(t, s.Publisher.Publish(t.Context(), ms), len(ms))
	got := ids(s.read(t, topic, len(ms)))
	var wrong []uuid.UUID
	for _, m := range ms {
		if got[m.ID] != 1 {
			wrong = append(wrong, m.ID)
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d of %d accepted messages are not once in the broker: %s is there %d times",
			len(wrong), len(ms), wrong[0], got[wrong[0]])
	}
}

func checkWire(t *testing.T, s Subject) {
	topic := s.Topic(t)
	binary := message(topic, "k", "\x00\xff\nüñí")
	binary.Tenant, binary.Version = "acme", 7
	binary.Headers = []outbox.Header{
		{Name: "correlation_id", Value: "c-1"}, {Name: "traceparent", Value: "00-1-2-01"}, {Name: "empty", Value: ""},
	}
	tombstone := message(topic, "k", "")
	tombstone.Payload = nil
	wantAccepted(t, s.Publisher.Publish(t.Context(), []*outbox.Message{binary, tombstone}), 2)
	for _, r := range s.read(t, topic, 2) {
		want := binary
		if r.ID == tombstone.ID {
			want = tombstone
		}
		if !bytes.Equal(r.Payload, want.Payload) || !s.LosesNil && (r.Payload == nil) != (want.Payload == nil) {
			t.Errorf("payload: got %q, want %q", r.Payload, want.Payload)
		}
		for _, h := range outbox.WireHeaders(want) {
			if got, ok := r.Headers[h.Name]; !ok || got != h.Value {
				t.Errorf("header %s: got %q, want %q", h.Name, got, h.Value)
			}
		}
	}
}

func checkUntouched(t *testing.T, s Subject) {
	m := message(s.Topic(t), "k", "body")
	m.Headers = []outbox.Header{{Name: "a", Value: "b"}}
	before := *m
	before.Payload, before.Headers = bytes.Clone(m.Payload), []outbox.Header{{Name: "a", Value: "b"}}
	wantAccepted(t, s.Publisher.Publish(t.Context(), []*outbox.Message{m}), 1)
	if !reflect.DeepEqual(*m, before) {
		t.Errorf("got %+v, want %+v", *m, before)
	}
}

func checkOrder(t *testing.T, s Subject) {
	topic := s.Topic(t)
	for batch := range 4 { // a relay hands over one message of a key at a time where the publisher is not KeyOrdered
		var ms []*outbox.Message
		for i := range 25 {
			ms = append(ms, message(topic, "k", fmt.Sprint(batch*25+i)))
		}
		if outbox.KeyOrdered(s.Publisher) {
			wantAccepted(t, s.Publisher.Publish(t.Context(), ms), len(ms))
			continue
		}
		for _, m := range ms {
			wantAccepted(t, s.Publisher.Publish(t.Context(), []*outbox.Message{m}), 1)
		}
	}
	for i, r := range s.read(t, topic, 100) {
		if string(r.Payload) != fmt.Sprint(i) {
			t.Fatalf("at place %d: got %s", i, r.Payload)
		}
	}
}

func checkSideBySide(t *testing.T, s Subject) {
	topic := s.Topic(t)
	const calls, each = 8, 50
	var wg sync.WaitGroup
	for c := range calls {
		wg.Go(func() {
			var ms []*outbox.Message
			for i := range each {
				ms = append(ms, message(topic, fmt.Sprint("call", c), fmt.Sprint(i)))
			}
			for i, r := range s.Publisher.Publish(t.Context(), ms) {
				if !r.Accepted() {
					t.Errorf("call %d, message %d: got %v, want accepted", c, i, r.Err())
				}
			}
		})
	}
	wg.Wait()
	got := ids(s.read(t, topic, calls*each))
	if len(got) != calls*each {
		t.Errorf("got %d different messages, want %d", len(got), calls*each)
	}
	for id, n := range got {
		if n > 1 {
			t.Errorf("%s arrived %d times", id, n)
		}
	}
}
