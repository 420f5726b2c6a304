package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/outbox"
)

const (
	keys   = 50
	perKey = 100 // 5 000 messages
	atOnce = 5   // messages of a usual transaction
	burst  = 10  // messages of each key in one that makes full claims
)

// sharesBetweenRelays has two relay processes at work on the same messages.
func sharesBetweenRelays(t *testing.T, c combination) {
	f := newFleet(t, c, "10s")
	first, second := f.start(t), f.start(t)
	f.awaitShares(t)
	f.write(t)

	f.finish(t).checkOnce(t)
	for _, r := range []*relayProcess{first, second} {
		if n := f.claimed(t, r); n < keys*perKey/10 {
			t.Errorf("the relay of session %s claimed %d of %d messages", r.session, n, keys*perKey)
		}
		r.terminate(t)
	}
}

// survivesKill kills one of two relays while it has messages in flight. Only those may come twice.
func survivesKill(t *testing.T, c combination) {
	f := newFleet(t, c, "3s")
	survivor, victim := f.start(t), f.start(t)
	f.awaitShares(t)
	f.write(t)
	f.interrupt(t, victim)
	inFlight := f.inFlight(t, victim)
	victim.kill(t)

	got := f.finish(t)
	got.check(t)
	t.Logf("killed with %d messages in flight, %d came twice", len(inFlight), len(got.repeats))
	for _, d := range got.repeats {
		if !inFlight[d.id] {
			t.Errorf("%v came twice and was not in flight when the relay was killed", d)
		}
	}
	if n := len(got.repeats); n > len(inFlight) {
		t.Errorf("%d messages came twice, %d were in flight", n, len(inFlight))
	}
	survivor.terminate(t)
}

// survivesTermination ends one of two relays as a deployment does, while it has messages in flight.
func survivesTermination(t *testing.T, c combination) {
	f := newFleet(t, c, "10s")
	survivor, victim := f.start(t), f.start(t)
	f.awaitShares(t)
	f.write(t)
	f.interrupt(t, victim)
	inFlight := f.inFlight(t, victim)
	victim.terminate(t)

	t.Logf("terminated with %d messages in flight", len(inFlight))
	f.finish(t).checkOnce(t)
	survivor.terminate(t)
}

// fleet is relay processes on one database, and what they do there.
type fleet struct {
	*app
	c        combination
	settings map[string]string
	consumer *recorder
	relays   []*relayProcess
	written  int // messages of each key
}

type relayProcess struct {
	*process
	session string
}

func newFleet(t *testing.T, c combination, lease string) *fleet {
	t.Helper()
	a := newApp(t, c, newTopic)
	settings := with(servers(a.database, a.broker, a.topic), "OUTBOX_LEASE", lease)
	f := &fleet{app: a, c: c, settings: settings, consumer: a.broker.record(t, a.topic)}
	f.logClaims(t)
	return f
}

// logClaims keeps every claim, which the table of claims does only until it is settled.
func (f *fleet) logClaims(t *testing.T) {
	t.Helper()
	run(t, f.db, `CREATE TABLE claim_log (session uuid, ids uuid[])`)
	run(t, f.db, `
		CREATE FUNCTION log_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO claim_log VALUES (NEW.session, NEW.ids);
			RETURN NULL;
		END $$`)
	run(t, f.db, `
		CREATE TRIGGER log_claim AFTER INSERT ON outbox_claims FOR EACH ROW EXECUTE FUNCTION log_claim()`)
}

// start starts a relay and waits for its session.
func (f *fleet) start(t *testing.T) *relayProcess {
	t.Helper()
	r := &relayProcess{process: startRelay(t, f.c, f.settings)}
	eventually(t, func() string {
		r.session = scan[string](t, f.db, `SELECT CAST(id AS text) FROM outbox_sessions WHERE relay LIKE ?`,
			fmt.Sprintf("%%-%d", r.cmd.Process.Pid))
		if r.session == "" {
			return fmt.Sprintf("the relay of process %d has no session", r.cmd.Process.Pid)
		}
		return ""
	})
	f.relays = append(f.relays, r)
	return r
}

// awaitShares waits until every lane has an owner and each relay has its share of them.
func (f *fleet) awaitShares(t *testing.T) {
	t.Helper()
	eventually(t, func() string {
		total := f.database.count(t, "outbox_lanes")
		for _, r := range f.relays {
			lanes := scan[int](t, f.db, "SELECT count(*) FROM outbox_lanes WHERE owner = ?", r.session)
			if lanes != total/len(f.relays) {
				return fmt.Sprintf("the relay of session %s owns %d of %d lanes", r.session, lanes, total)
			}
		}
		return ""
	})
}

// write commits most messages a few at a time, their keys side by side, and the rest of all keys at once.
func (f *fleet) write(t *testing.T) {
	t.Helper()
	errs := make(chan error, keys)
	for k := range keys {
		go func() { errs <- f.writeKey(t, keyName(k), perKey-burst) }()
	}
	for range keys {
		if err := <-errs; err != nil {
			t.Fatalf("write messages: %v", err)
		}
	}
	f.written = perKey - burst
	f.burst(t)
}

func (f *fleet) writeKey(t *testing.T, key string, numbers int) error {
	for n := 0; n < numbers; n += atOnce {
		var messages []*outbox.Message
		for i := range atOnce {
			messages = append(messages, f.message(t, key, n+i+1))
		}
		if err := f.tryCommit(t.Context(), messages...); err != nil {
			return err
		}
	}
	return nil
}

// burst commits further messages of each key in one transaction.
func (f *fleet) burst(t *testing.T) {
	t.Helper()
	var messages []*outbox.Message
	for i := range burst {
		for k := range keys {
			messages = append(messages, f.message(t, keyName(k), f.written+i+1))
		}
	}
	f.commit(t, messages...)
	f.written += burst
}

func keyName(k int) string { return fmt.Sprintf("k-%02d", k) }

// interrupt stops a relay at a moment when the broker has taken messages that the relay has not settled. Until that
// moment comes the relay gets more to do.
func (f *fleet) interrupt(t *testing.T, r *relayProcess) {
	t.Helper()
	eventuallyEvery(t, time.Millisecond, func() string {
		if len(f.inFlight(t, r)) == 0 {
			if f.database.count(t, "outbox_messages") == 0 {
				f.burst(t)
			}
			return fmt.Sprintf("the relay of session %s has nothing in flight", r.session)
		}
		r.signal(t, syscall.SIGSTOP)
		if f.consumer.holds(f.unsettled(t, r)) {
			return ""
		}
		r.signal(t, syscall.SIGCONT)
		return fmt.Sprintf("the relay of session %s was not met between the broker's word and its settle", r.session)
	})
}

// inFlight returns the ids that a relay's claims name.
func (f *fleet) inFlight(t *testing.T, r *relayProcess) map[string]bool {
	t.Helper()
	return setOf(scan[[]string](t, f.db,
		"SELECT CAST(unnest(ids) AS text) FROM outbox_claims WHERE session = ?", r.session))
}

// unsettled returns those of them that no settle is at work on.
func (f *fleet) unsettled(t *testing.T, r *relayProcess) map[string]bool {
	t.Helper()
	return setOf(scan[[]string](t, f.db, `
		SELECT CAST(unnest(ids) AS text)
		FROM (SELECT ids FROM outbox_claims WHERE session = ? FOR SHARE SKIP LOCKED) c`, r.session))
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// claimed returns how many messages a relay has claimed.
func (f *fleet) claimed(t *testing.T, r *relayProcess) int {
	t.Helper()
	return scan[int](t, f.db, "SELECT coalesce(sum(cardinality(ids)), 0) FROM claim_log WHERE session = ?", r.session)
}

// finish waits until everything is settled, and returns what the consumer makes of it.
func (f *fleet) finish(t *testing.T) sequence {
	t.Helper()
	f.database.awaitEmpty(t)
	f.consumer.awaitIDs(t, keys*f.written)
	want := map[string]int{}
	for k := range keys {
		want[keyName(k)] = f.written
	}
	return sequenceOf(want, f.consumer.finish(t))
}
