package telemetry_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry"
)

func TestObserver(t *testing.T) {
	t.Parallel()
	t.Run("counts_hand-overs_by_outcome_and_settles_by_verdict", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, b := newMeter(t, telemetry.Config{}), newBackend()
			b.answer = func(m *outbox.Message) outbox.Result {
				if m.Topic == "bills" {
					return outbox.Failed(outbox.Permanent(errFault))
				}
				return outbox.Accepted
			}
			_, stop := run(t, b, outbox.RelayConfig{Observer: m.Observer()})
			b.enqueue(t, message("orders", "1"), message("orders", "2"), message("bills", "3"))
			time.Sleep(time.Minute)
			stop()
			m.collect(t).want(t, values{
				"outbox.handovers{messaging.destination.name=orders,outbox.outcome=accepted}": 2,
				"outbox.handovers{messaging.destination.name=bills,outbox.outcome=permanent}": 1,
				"outbox.settled{messaging.destination.name=orders,outbox.verdict=delivered}":  2,
				"outbox.settled{messaging.destination.name=bills,outbox.verdict=parked}":      1,
				"outbox.uncertain":   0,
				"outbox.claims.lost": 0,
			})
		})
	})
	t.Run("counts_a_hand-over_again_when_it_is_made_again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, b, tries := newMeter(t, telemetry.Config{}), newBackend(), 0
			b.answer = func(*outbox.Message) outbox.Result {
				if tries++; tries < 3 {
					return outbox.Failed(errFault)
				}
				return outbox.Accepted
			}
			_, stop := run(t, b, outbox.RelayConfig{Observer: m.Observer()})
			b.enqueue(t, message("orders", "1"))
			time.Sleep(time.Minute)
			stop()
			m.collect(t).want(t, values{
				"outbox.handovers{messaging.destination.name=orders,outbox.outcome=refused}":  2,
				"outbox.handovers{messaging.destination.name=orders,outbox.outcome=accepted}": 1,
				"outbox.settled{messaging.destination.name=orders,outbox.verdict=retried}":    2,
			})
		})
	})
	t.Run("times_claims_settles_cycles_and_wake-ups", func(t *testing.T) {
		t.Parallel()
		m := newMeter(t, telemetry.Config{})
		cycle := m.Observer().Cycle
		cycle(outbox.CycleEvent{Claiming: time.Millisecond})
		cycle(outbox.CycleEvent{Claiming: time.Second, Err: errFault})
		cycle(outbox.CycleEvent{
			Waited: time.Millisecond, Claiming: time.Millisecond, Settling: time.Millisecond, Took: time.Second, Tries: 1,
			Outcomes: []outbox.Outcome{delivered("orders")},
		})
		m.collect(t).want(t, values{
			"outbox.claim.duration":                    2,
			"outbox.claim.duration{error.type=_OTHER}": 1,
			"outbox.settle.duration":                   1,
			"outbox.cycle.duration":                    1,
			"outbox.wakeup.duration":                   1,
		})
	})
	t.Run("counts_accepted_messages_of_a_claim_that_was_lost_as_handed_over_and_uncertain", func(t *testing.T) {
		t.Parallel()
		m := newMeter(t, telemetry.Config{})
		m.Observer().Cycle(outbox.CycleEvent{
			Tries: 1, Err: outbox.ErrClaimLost, Outcomes: []outbox.Outcome{delivered("orders"), delivered("bills")},
		})
		m.collect(t).want(t, values{
			"outbox.handovers{messaging.destination.name=orders,outbox.outcome=accepted}": 1,
			"outbox.settled{messaging.destination.name=orders,outbox.verdict=delivered}":  -1,
			"outbox.uncertain":                              2,
			"outbox.claims.lost":                            1,
			"outbox.settle.duration{error.type=claim_lost}": 1,
		})
	})
	t.Run("counts_no_claim_as_lost_that_an_earlier_try_may_have_settled", func(t *testing.T) {
		t.Parallel()
		m := newMeter(t, telemetry.Config{})
		m.Observer().Cycle(outbox.CycleEvent{
			Tries: 2, Err: outbox.ErrClaimLost, Outcomes: []outbox.Outcome{delivered("orders")},
		})
		m.collect(t).want(t, values{"outbox.uncertain": 1, "outbox.claims.lost": 0})
	})
	t.Run("counts_sessions_that_lost_their_lanes", func(t *testing.T) {
		t.Parallel()
		m := newMeter(t, telemetry.Config{})
		m.Observer().LeaseLost(outbox.LeaseEvent{Lanes: 64})
		m.collect(t).want(t, values{"outbox.leases.lost": 1})
	})
	t.Run("tells_so_many_topics_apart_and_no_more", func(t *testing.T) {
		t.Parallel()
		m := newMeter(t, telemetry.Config{Topics: 2})
		m.Observer().Cycle(outbox.CycleEvent{Outcomes: []outbox.Outcome{delivered("a")}})
		m.Observer().Cycle(outbox.CycleEvent{Outcomes: []outbox.Outcome{delivered("b")}})
		m.Observer().Cycle(outbox.CycleEvent{Outcomes: []outbox.Outcome{delivered("c"), delivered("d"), delivered("a")}})
		m.collect(t).want(t, values{
			"outbox.handovers{messaging.destination.name=a,outbox.outcome=accepted}":      2,
			"outbox.handovers{messaging.destination.name=b,outbox.outcome=accepted}":      1,
			"outbox.handovers{messaging.destination.name=c,outbox.outcome=accepted}":      -1,
			"outbox.handovers{messaging.destination.name=_OTHER,outbox.outcome=accepted}": 2,
		})
	})
}

func delivered(topic string) outbox.Outcome {
	return outbox.Outcome{Claimed: &outbox.Claimed{Message: message(topic, "k")}, Verdict: outbox.Delivered}
}
