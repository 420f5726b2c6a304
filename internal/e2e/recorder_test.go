package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// body is the part that tests read of an OrderPlaced event, and all that they write of one.
type body struct {
	Customer   string `json:"customer"`    // the key
	TotalCents int    `json:"total_cents"` // the number within the key
}

// delivery is one message as a consumer received it.
type delivery struct {
	id        string // the header that Watermill reads
	messageID string // the broker's own, if it has one
	kind      string
	trace     string // the header traceparent
	body
}

func (d delivery) String() string {
	return fmt.Sprintf("%s number %d (id %s, message id %q, type %s)", d.Customer, d.TotalCents, d.id, d.messageID, d.kind)
}

// recorder keeps deliveries in the order in which they came.
type recorder struct {
	end func(ctx context.Context) error // waits until all that the broker holds is recorded

	mu         sync.Mutex
	deliveries []delivery
	unreadable []string
}

func (r *recorder) add(d delivery, payload []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := json.Unmarshal(payload, &d.body); err != nil {
		r.unreadable = append(r.unreadable, fmt.Sprintf("%s: %v: %q", d.id, err, payload))
		return
	}
	r.deliveries = append(r.deliveries, d)
}

// all returns the deliveries so far.
func (r *recorder) all(t *testing.T) []delivery {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unreadable) > 0 {
		t.Fatalf("deliveries that are no order: %v", r.unreadable)
	}
	return slices.Clone(r.deliveries)
}

// holds reports whether one of ids was delivered.
func (r *recorder) holds(ids map[string]bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.deliveries, func(d delivery) bool { return ids[d.id] })
}

// awaitIDs waits for n different ids and returns the deliveries so far.
func (r *recorder) awaitIDs(t *testing.T, n int) []delivery {
	t.Helper()
	var got []delivery
	eventually(t, func() string {
		got = r.all(t)
		if ids := len(distinct(got)); ids < n {
			return fmt.Sprintf("%d of %d ids were delivered", ids, n)
		}
		return ""
	})
	return got
}

// finish returns all deliveries. Call it when nothing publishes any more.
func (r *recorder) finish(t *testing.T) []delivery {
	t.Helper()
	if err := r.end(within(t)); err != nil {
		t.Fatalf("receive the last message: %v", err)
	}
	return r.all(t)
}

func distinct(deliveries []delivery) map[string]bool {
	ids := make(map[string]bool, len(deliveries))
	for _, d := range deliveries {
		ids[d.id] = true
	}
	return ids
}
