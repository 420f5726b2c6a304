package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

var orderCases = []Case{
	{
		Name:     "order/holds_a_key_behind_a_message_that_waits",
		Contract: "While a message waits for a retry nothing later of its key is claimed, whenever it was committed; other keys go on.",
		Check:    func(f *Fixture) { checkHeld(f, failed(outbox.Retry, time.Hour)) },
	},
	{
		Name:     "order/holds_a_key_behind_a_deferred_message",
		Contract: "A deferred message holds its key as one that is retried does.",
		Check:    func(f *Fixture) { checkHeld(f, failed(outbox.Defer, time.Hour)) },
	},
	{
		Name:     "order/holds_a_key_behind_a_parked_message",
		Contract: "A parked message holds its key until someone acts.",
		Check:    func(f *Fixture) { checkHeld(f, failed(outbox.ParkKey, 0)) },
	},
	{
		Name:     "order/lets_a_key_go_on_past_a_message_that_was_set_aside",
		Contract: "A message that was parked alone holds nothing.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2")
			c := a.claim(func(r *outbox.ClaimRequest) { r.Limit = 1 })
			a.settle(c, failed(outbox.ParkOne, 0))
			f.putAll("a", "3")
			f.want("claimed", payloads(a.claim()), []string{"2", "3"})
		},
	},
	{
		Name:     "order/resumes_in_order_after_a_retry",
		Contract: "When a message that waited is delivered, the key goes on with the next one.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2", "3")
			a.settleEach(a.claim(), func(m *outbox.Claimed) outbox.Outcome {
				if string(m.Payload) == "1" {
					return failed(outbox.Retry, 50*time.Millisecond)
				}
				return released
			})
			var got []string
			f.eventually("delivering all three", func() bool { got = append(got, a.drain()...); return len(got) == 3 })
			f.want("order", got, []string{"1", "2", "3"})
		},
	},
	{
		Name:     "order/retries_messages_of_a_key_in_their_order",
		Contract: "Several waiting messages of a key come back one behind the other, whichever is due first.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2", "3")
			due := map[string]time.Duration{"1": 300 * time.Millisecond, "2": 0, "3": 100 * time.Millisecond}
			a.settleEach(a.claim(), func(m *outbox.Claimed) outbox.Outcome {
				return failed(outbox.Retry, due[string(m.Payload)])
			})
			var got []string
			f.eventually("delivering all three", func() bool { got = append(got, a.drain()...); return len(got) == 3 })
			f.want("order", got, []string{"1", "2", "3"})
		},
	},
	{
		Name:     "order/holds_a_scheduled_message_that_is_due",
		Contract: "A scheduled message joins the order of its key when it is due: from then on it is held like any other.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1")
			a.settle(a.claim(), failed(outbox.ParkKey, 0))
			held, free := message("a", "held"), message("b", "free")
			held.AvailableAt = time.Now().Add(time.Second)
			free.AvailableAt = held.AvailableAt // and due no sooner
			f.put(held)
			f.put(free)
			c := a.claimSome()
			f.want("claimed when both are due", payloads(c), []string{"free"})
			a.settle(c, delivered)
			f.want("claimed later", payloads(a.claim()), []string(nil))
		},
	},
	{
		Name:     "order/takes_up_a_released_message_before_later_ones",
		Contract: "A released message is claimed again before anything later of its key.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2")
			a.settle(a.claim(), released)
			f.putAll("a", "3")
			f.want("order", a.drain(), []string{"1", "2", "3"})
		},
	},
	{
		Name:     "order/finds_a_message_that_committed_after_later_ones",
		Contract: "A transaction that commits late loses nothing, and a writer that waited for it on the same key comes behind it.",
		Check:    checkLateCommit,
	},
}

func checkHeld(f *Fixture, o outbox.Outcome) {
	a := f.join(long)
	f.putAll("a", "1", "2")
	f.putAll("b", "1")
	a.settleEach(a.claim(), func(m *outbox.Claimed) outbox.Outcome {
		switch {
		case m.Key == "b":
			return delivered
		case string(m.Payload) == "1":
			return o
		}
		return released
	})
	f.putAll("a", "3")
	f.putAll("b", "2")
	c := a.claim()
	f.want("claimed", payloads(c), []string{"2"})
	f.want("of the key", c.Messages[0].Key, "b")
}

// checkLateCommit keeps one transaction open while others of a higher number commit and are delivered.
func checkLateCommit(f *Fixture) {
	a := f.join(long)
	open, commit := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- f.Store.InTransaction(f.Context(), func(ctx context.Context) error {
			err := f.Store.Enqueue(ctx, message("late", "1"))
			close(open)
			if err != nil {
				return err
			}
			<-commit
			return nil
		})
	}()
	<-open
	if canWriteBeside(f) {
		for i := range 20 {
			f.put(message(fmt.Sprint("other", i), "x"))
		}
		f.want("delivered meanwhile", len(a.drain()), 20)
	}
	close(commit)
	if err := <-done; err != nil {
		f.Fatal(err)
	}
	f.putAll("late", "2")
	var got []string
	f.eventually("delivering both", func() bool { got = append(got, a.drain()...); return len(got) >= 2 })
	f.want("order", got, []string{"1", "2"})
}

// SingleWriter is implemented by stores whose database lets one transaction write at a time, so that none commits
// late.
type SingleWriter interface{ SingleWriter() bool }

func canWriteBeside(f *Fixture) bool {
	s, ok := f.Store.(SingleWriter)
	return !ok || !s.SingleWriter()
}
