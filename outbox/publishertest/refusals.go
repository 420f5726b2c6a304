package publishertest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

func checkPoison(t *testing.T, s Subject) {
	if s.Poison == nil {
		return
	}
	topic := s.Topic(t)
	poison := s.Poison(topic)
	poison.Key = "poisoned"
	var ms []*outbox.Message
	for i := range 40 {
		ms = append(ms, message(topic, fmt.Sprint("key", i), fmt.Sprint(i)))
		if i == 20 {
			ms = append(ms, poison)
		}
	}
	results := s.Publisher.Publish(t.Context(), ms)
	for i, m := range ms {
		if m == poison {
			if err := results[i].Err(); !isRefusal(err) {
				t.Errorf("poison: got %v, want a refusal that is about the message", err)
			}
		} else if !results[i].Accepted() {
			t.Errorf("neighbour %d: got %v, want accepted", i, results[i].Err())
		}
	}
	if got := ids(s.read(t, topic, 40)); got[poison.ID] != 0 {
		t.Error("the poison message is in the broker")
	}
}

func isRefusal(err error) bool {
	switch outbox.ClassOf(err) {
	case outbox.ClassPermanent, outbox.ClassRefused, outbox.ClassUnroutable:
		return err != nil
	}
	return false
}

// checkPrefix also lets the key change its topic, and pads the call so that it takes more than one batch.
func checkPrefix(t *testing.T, s Subject) {
	if s.Poison == nil || !outbox.KeyOrdered(s.Publisher) {
		return
	}
	topics := []string{s.Topic(t), s.Topic(t)}
	var ms []*outbox.Message
	for i := range 300 {
		m := message(topics[i%2], fmt.Sprint("key", i/2%3), fmt.Sprint(i))
		if i == 101 || i == 140 {
			key := m.Key
			m = s.Poison(m.Topic)
			m.Key = key
		}
		ms = append(ms, m)
	}
	results := s.Publisher.Publish(t.Context(), ms)
	accepted := map[uuid.UUID]bool{}
	failed := map[string]bool{}
	for i, m := range ms {
		lane := m.Topic + "/" + m.Key
		if results[i].Accepted() && failed[lane] {
			t.Errorf("message %d of %s was accepted behind a failed one", i, lane)
		}
		failed[lane] = failed[lane] || !results[i].Accepted()
		accepted[m.ID] = results[i].Accepted()
	}
	for _, topic := range topics {
		for id := range ids(s.read(t, topic, 1)) {
			if !accepted[id] {
				t.Errorf("%s is in the broker and was not reported as accepted, with no fault but the poison", id)
			}
		}
	}
}

func checkMissing(t *testing.T, s Subject) {
	if s.Missing == "" {
		return
	}
	topic := s.Topic(t)
	ms := []*outbox.Message{message(topic, "a", "1"), message(s.Missing, "b", "2"), message(topic, "c", "3")}
	results := s.Publisher.Publish(t.Context(), ms)
	if err := results[1].Err(); results[1].Accepted() || outbox.ClassOf(err) == outbox.ClassPermanent {
		t.Errorf("missing destination: got accepted %t, error %v; want a failure that may pass", results[1].Accepted(), err)
	}
	if !results[0].Accepted() || !results[2].Accepted() {
		t.Errorf("neighbours: got %v and %v, want accepted", results[0].Err(), results[2].Err())
	}
}

func checkEnded(t *testing.T, s Subject) {
	topic := s.Topic(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i, r := range s.Publisher.Publish(ended, []*outbox.Message{message(topic, "a", "1"), message(topic, "", "2")}) {
		if r.Accepted() {
			t.Errorf("message %d was accepted", i)
		}
	}
	marker := message(topic, "", "marker")
	wantAccepted(t, s.Publisher.Publish(t.Context(), []*outbox.Message{marker}), 1)
	for _, r := range s.read(t, topic, 1) {
		if r.ID != marker.ID {
			t.Errorf("%s was handed over", r.ID)
		}
	}
}
