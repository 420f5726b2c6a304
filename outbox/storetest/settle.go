package storetest

import (
	"time"

	"github.com/postroom/postroom/outbox"
)

var settleCases = []Case{
	{
		Name:     "settle/removes_what_was_delivered",
		Contract: "A delivered message is never claimed again, and is counted.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2", "3")
			f.want("settled", a.settle(a.claim(), delivered), 3)
			f.want("left", payloads(a.claim()), []string(nil))
		},
	},
	{
		Name:     "settle/of_a_released_message_writes_nothing",
		Contract: "Released messages are as they were before the claim: no attempt, no wait.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2")
			f.want("changed", a.settle(a.claim(), released), 0)
			c := a.claim()
			f.want("claimed", payloads(c), []string{"1", "2"})
			f.want("attempts", c.Messages[0].Attempts, 0)
		},
	},
	{
		Name:     "settle/counts_attempts_and_failures_apart",
		Contract: "Defer counts an attempt, Retry an attempt and a failure; both are there at the next claim.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1")
			for i, step := range []struct {
				verdict            outbox.Verdict
				attempts, failures int
			}{{outbox.Defer, 1, 0}, {outbox.Retry, 2, 1}, {outbox.Defer, 3, 1}, {outbox.Retry, 4, 2}} {
				f.want("changed", a.settle(a.claimSome(), failed(step.verdict, 0)), 1)
				c := a.claimSome()
				m := c.Messages[0]
				f.want("attempts and failures", []int{m.Attempts, m.Failures}, []int{step.attempts, step.failures})
				f.want("suspicion", c.Messages[0].Suspect, false)
				if i < 4 {
					a.settle(c, released)
				}
			}
		},
	},
	{
		Name:     "settle/waits_as_long_as_it_was_told",
		Contract: "A message that waits is not claimed before RetryIn has passed by the database's clock.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("", "1")
			c, told := a.claim(), time.Now()
			a.settle(c, failed(outbox.Retry, 500*time.Millisecond))
			a.claimSome()
			if waited := time.Since(told); waited < 400*time.Millisecond {
				f.Errorf("claimed again after %v, want 500 ms", waited)
			}
		},
	},
	{
		Name:     "settle/never_returns_a_parked_message",
		Contract: "Neither kind of parked message is claimed again by itself.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("", "1", "2")
			a.settleEach(a.claim(), func(m *outbox.Claimed) outbox.Outcome {
				if string(m.Payload) == "1" {
					return failed(outbox.ParkKey, 0)
				}
				return failed(outbox.ParkOne, 0)
			})
			c := a.claim()
			f.want("claimed", payloads(c), []string(nil))
			f.want("suspects", c.Suspects, false)
		},
	},
	{
		Name:     "settle/works_once",
		Contract: "A token is good for one settle; another one returns ErrClaimLost and changes nothing.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1")
			c := a.claim()
			a.settle(c, released)
			a.wantLost(c)
			f.want("left", payloads(a.claim()), []string{"1"})
		},
	},
}
