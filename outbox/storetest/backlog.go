package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

var backlogCases = []Case{
	{
		Name:     "backlog/counts_each_topic_and_status",
		Contract: "The backlog has the number of messages of each topic that have a status, and none where there are none.",
		Check:    backlogged(checkBacklog),
	},
	{
		Name:     "backlog/grows_older_while_nobody_relays",
		Contract: "The backlog is known when no relay lives, and its oldest message grows older.",
		Check: backlogged(func(b *backlogger) {
			b.putAll("a", "1")
			before := b.age()
			b.eventually("growing older", func() bool { return b.age() > before+20*time.Millisecond })
		}),
	},
	{
		Name:     "backlog/counts_a_scheduled_message_as_pending_once_it_is_due",
		Contract: "A scheduled message is pending once it is due, and as old as that is ago.",
		Check: backlogged(func(b *backlogger) {
			later, soon := message("a", "1"), message("b", "1")
			later.AvailableAt, soon.AvailableAt = time.Now().Add(time.Hour), time.Now().Add(2*time.Second)
			b.put(later, soon)
			b.eventually("being due", func() bool { return b.backlog().Messages(outbox.StatusPending) == 1 })
			b.want("scheduled", b.backlog().Messages(outbox.StatusScheduled), 1)
			b.want("age of what is scheduled", b.backlog().Oldest(outbox.StatusScheduled), time.Duration(0))
			enqueued := time.Since(soon.AvailableAt) + 2*time.Second
			if age := b.age(); age > enqueued {
				b.Errorf("the due message is %v old, want its age since it was due", age)
			}
		}),
	},
	{
		Name:     "backlog/counts_what_a_dead_session_has_claimed_as_pending",
		Contract: "What a session had claimed when it expired is pending, also before anyone recovers it.",
		Check: backlogged(func(b *backlogger) {
			b.putAll("a", "1", "2")
			b.living(claiming(2))
			b.eventually("being pending", func() bool { return b.backlog().Messages(outbox.StatusPending) == 2 })
			b.want("in flight", b.backlog().Messages(outbox.StatusInFlight), 0)
		}),
	},
	{
		Name:     "backlog/is_an_error_when_it_is_not_known",
		Contract: "A backlog of none has no counts; one that could not be read in time is an error.",
		Check: backlogged(func(b *backlogger) {
			b.want("counts of an empty store", len(b.backlog().Counts), 0)
			b.putAll("a", "1")
			ctx, cancel := context.WithCancel(b.Context())
			cancel()
			if got, err := b.Backlog(ctx); err == nil {
				b.Errorf("got %v and no error from a call whose context has ended", got)
			}
		}),
	},
}

// backlogger is a fixture whose store tells its backlog.
type backlogger struct {
	*Fixture
	outbox.Backlogger
}

// backlogged runs check where the store is a Backlogger.
func backlogged(check func(*backlogger)) func(*Fixture) {
	return func(f *Fixture) {
		if b, ok := f.Store.(outbox.Backlogger); ok {
			check(&backlogger{f, b})
		}
	}
}

func (b *backlogger) backlog() outbox.Backlog {
	b.Helper()
	backlog, err := b.Backlog(b.Context())
	if err != nil {
		b.Fatalf("backlog: %v", err)
	}
	return backlog
}

func (b *backlogger) age() time.Duration {
	b.Helper()
	return b.backlog().Oldest(outbox.StatusPending)
}

func checkBacklog(b *backlogger) {
	a := b.join(long)
	put := func(topic, payload string) {
		m := message(payload, payload)
		m.Topic = topic
		b.put(m)
	}
	for _, payload := range []string{"retrying", "parked", "skipped"} {
		put("one", payload)
		put("two", payload)
	}
	b.putAll("parked", "held")
	a.settleEach(a.claim(), asNamed)
	put("one", "in_flight")
	a.claim()
	put("two", "pending")
	put("two", "other")
	got := b.backlog()
	var lines []string
	for _, c := range got.Counts {
		lines = append(lines, fmt.Sprint(c.Topic, " ", c.Status, " ", c.Messages))
		if c.Oldest < 0 || c.Oldest > limit { // 0 within a tick of the clock
			b.Errorf("oldest of %s in %s: got %v, want a moment", c.Status, c.Topic, c.Oldest)
		}
	}
	b.want("counts", lines, []string{
		"one in_flight 1", "one parked 1", "one retrying 1", "one skipped 1", "orders held 1",
		"two parked 1", "two pending 2", "two retrying 1", "two skipped 1",
	})
	b.want("capped", got.Capped, false)
	b.want("messages parked and skipped", got.Messages(outbox.StatusParked, outbox.StatusSkipped), 4)
}
