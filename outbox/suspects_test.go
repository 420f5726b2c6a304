package outbox_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// perMessage takes a millisecond a message, ten seconds for one that is slow, and notes the sizes of its calls.
type perMessage struct {
	mu      sync.Mutex
	batches int // calls of more than one message
	single  int
	after   int // batches before the last single one
}

func (p *perMessage) KeyOrdered() bool { return true }

func (p *perMessage) Publish(_ context.Context, messages []*outbox.Message) []outbox.Result {
	results := make([]outbox.Result, len(messages))
	for i, m := range messages {
		results[i] = outbox.Accepted
		if string(m.Payload) == "slow" {
			time.Sleep(10 * time.Second)
		}
		time.Sleep(time.Millisecond)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(messages) > 1 {
		p.batches++
	} else {
		p.single, p.after = p.single+1, p.batches
	}
	return results
}

// crash leaves a claim of messages behind whose session has expired.
func crash(t *testing.T, s *memstore.Store, n int) {
	t.Helper()
	session := uuid.New()
	lanes, err := s.AcquireLanes(t.Context(), outbox.LaneRequest{Session: session, Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), outbox.ClaimRequest{
		Token: uuid.New(), Session: session, Lanes: lanes.Held, Limit: n, Bytes: 1 << 20,
	})
	if err != nil || len(c.Messages) != n {
		t.Fatalf("claimed %d messages, %v; want %d", len(c.Messages), err, n)
	}
	time.Sleep(2 * time.Second)
}

// What a crash left in a claim goes out one by one, and has half of a worker's time while there is a backlog.
func TestRelay_suspects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload     string
		least, most int // batches before the last suspect
	}{
		"are_worked_off_in_the_time_of_two_batches":              {payload: "x", least: 2, most: 3},
		"that_are_slow_take_turns_with_batches_and_not_all_time": {payload: "slow", least: 99, most: 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p := memstore.New(memstore.Config{Lanes: 1}), new(perMessage)
				for i := range 100 {
					enqueue(t, s, message("suspect"+strconv.Itoa(i), c.payload))
				}
				crash(t, s, 100)
				for i := range 5000 {
					enqueue(t, s, message(strconv.Itoa(i), "1"))
				}
				stop := start(t, s, p, outbox.RelayConfig{Workers: 1, Batch: 50, MaxPublishDuration: time.Minute})
				time.Sleep(20 * time.Minute)
				wantStopped(t, stop)
				if p.single != 100 || p.batches != 100 {
					t.Errorf("%d suspects and %d batches, want 100 of each", p.single, p.batches)
				}
				if p.after < c.least || p.after > c.most {
					t.Errorf("%d batches before the last suspect, want %d or %d", p.after, c.least, c.most)
				}
			})
		})
	}
}
