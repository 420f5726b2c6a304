package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// The races that databases with many writers allow, each brought about on purpose.

const shortLease = 400 * time.Millisecond

func onPostgres(t *testing.T) *fixture {
	t.Helper()
	return newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
}

// servers are the databases with many writers at once.
var servers = map[string]func(t testing.TB, config gorm.Config) *gorm.DB{
	"postgres": openPostgres,
	"mariadb":  openMariaDB,
}

// onServers runs check on every one of them.
func onServers(t *testing.T, check func(t *testing.T, f *fixture)) {
	t.Helper()
	for name, open := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newFixture(t, open(t, gorm.Config{}), 8, gormstore.Config{}))
		})
	}
}

// either is the first on PostgreSQL, and the second on MariaDB.
func (f *fixture) either(postgres, mariadb string) string {
	if f.db.Name() == "mysql" {
		return mariadb
	}
	return postgres
}

// writer is an application transaction that stays open.
type writer struct {
	*fixture
	tx *gorm.DB
}

func (f *fixture) writer() *writer {
	f.Helper()
	tx := f.db.Begin()
	if tx.Error != nil {
		f.Fatal(tx.Error)
	}
	f.Cleanup(func() { tx.Rollback() }) // when the case ends early
	return &writer{f, tx}
}

// numbered gives the transaction its id, as any other write would.
func (w *writer) numbered() *writer {
	w.Helper()
	exec(w, w.tx, "SELECT pg_current_xact_id()")
	return w
}

func (w *writer) enqueue(key string) *outbox.Message {
	w.Helper()
	m := message(key)
	if err := w.store.In(w.tx).Enqueue(w.Context(), m); err != nil {
		w.Fatal(err)
	}
	return m
}

func (w *writer) commit() {
	w.Helper()
	if err := w.tx.Commit().Error; err != nil {
		w.Fatal(err)
	}
}

// deliver claims and delivers, and returns what it got.
func (r *relay) deliver() []uuid.UUID {
	r.Helper()
	c := r.claim()
	if len(c.Messages) > 0 {
		r.settle(c, all(outbox.Delivered))
	}
	return idsOf(c)
}

// sameLane returns another key of the lane of key.
func sameLane(key string) string {
	for i := 0; ; i++ {
		other := fmt.Sprint(key, i)
		if outbox.LaneOf(message(other), 8) == outbox.LaneOf(message(key), 8) {
			return other
		}
	}
}

func TestLateCommit(t *testing.T) {
	t.Run("comes_before_a_later_message_of_its_key", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			r := f.started()
			t1 := f.writer()
			late := t1.enqueue("k")
			for range 3 { // the cursor passes the late one's number by far
				other := f.enqueue(sameLane("k"))
				if diff := cmp.Diff(ids(other...), r.deliver()); diff != "" {
					t.Fatalf("delivered (-want +got):\n%s", diff)
				}
			}
			t1.commit()
			after := f.enqueue("k")[0] // its writer waited for the first one
			if diff := cmp.Diff(ids(late, after), r.deliver()); diff != "" {
				t.Errorf("delivered (-want +got):\n%s", diff)
			}
		})
	})
	for name, more := range map[string]int{
		"is_found_when_the_snapshot_did_not_list_its_writer":            0,
		"is_found_when_only_the_snapshots_after_that_listed_its_writer": 2,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := onPostgres(t)
			r := f.started()
			before := f.enqueue("a", "b", "c")
			if diff := cmp.Diff(ids(before...), r.deliver()); diff != "" {
				t.Fatalf("delivered (-want +got):\n%s", diff)
			}
			// y has the lower id and the higher number; x runs, but is not below the snapshot's xmax once y has ended.
			y, x := f.writer().numbered(), f.writer()
			late := x.enqueue("k")
			early := y.enqueue(sameLane("k"))
			y.commit()
			if diff := cmp.Diff(ids(early), r.deliver()); diff != "" {
				t.Fatalf("delivered (-want +got):\n%s", diff)
			}
			for range more { // its id and numbers are below everything that these see
				if other := f.enqueue(sameLane("k")); len(r.deliver()) != len(other) {
					t.Fatal("an open writer held up another message")
				}
			}
			x.commit()
			if diff := cmp.Diff(ids(late), r.deliver()); diff != "" {
				t.Errorf("delivered (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("is_found_by_whichever_worker_has_the_lane_next", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			r := f.started()
			half := func(i int) func(*outbox.ClaimRequest) {
				return func(q *outbox.ClaimRequest) { q.Lanes = q.Lanes[4*i : 4*i+4] }
			}
			t1 := f.writer()
			var late []*outbox.Message
			for i := range 16 {
				late = append(late, t1.enqueue(fmt.Sprint("k", i)))
			}
			for range 3 {
				f.enqueue("a", "b", "c", "d", "e", "f", "g", "h")
				for i := range 2 {
					r.settle(r.claim(half(i)), all(outbox.Delivered))
				}
			}
			t1.commit()
			if got := len(r.deliver()); got != len(late) {
				t.Errorf("delivered %d late messages, want %d", got, len(late))
			}
		})
	})
	t.Run("is_found_by_a_claim_of_its_lane_alone", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			r := f.started()
			random := rand.New(rand.NewPCG(1, 2))
			var open []*writer
			late := map[*writer]*outbox.Message{}
			for i := range 60 {
				var committed *outbox.Message
				switch n := random.IntN(4); {
				case n == 0 && len(open) < 4:
					w := f.writer()
					late[w] = w.enqueue(fmt.Sprint("late", i))
					open = append(open, w)
					continue
				case n <= 1 && len(open) > 0:
					w := open[random.IntN(len(open))]
					w.commit()
					open = slices.DeleteFunc(open, func(o *writer) bool { return o == w })
					committed = late[w]
				case n == 2:
					if c := r.claim(); len(c.Messages) > 0 {
						t.Fatalf("step %d: a claim of all lanes found %d messages that claims of their lanes did not", i, len(c.Messages))
					}
					continue
				default:
					committed = f.enqueue(fmt.Sprint("k", i))[0]
				}
				c := r.claim(func(q *outbox.ClaimRequest) {
					q.Lanes = slices.DeleteFunc(q.Lanes, func(l outbox.Lease) bool { return l.Lane != outbox.LaneOf(committed, 8) })
				})
				if diff := cmp.Diff(ids(committed), idsOf(c)); diff != "" {
					t.Fatalf("step %d (-want +got):\n%s", i, diff)
				}
				r.settle(c, all(outbox.Delivered))
			}
			for _, w := range open {
				w.commit()
			}
		})
	})
	t.Run("costs_nothing_while_its_writer_is_open", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			r := f.started()
			t1 := f.writer()
			t1.enqueue("k")
			for i := range 20 {
				if got := f.enqueue(fmt.Sprint("other", i)); len(r.deliver()) != len(got) {
					t.Fatal("an open writer held up an unrelated message")
				}
			}
			t1.commit()
		})
	})
}

// gate makes claims of f wait just before they are recorded, until it is opened.
func (f *fixture) gate() (open func()) {
	f.Helper()
	key := time.Now().UnixNano()
	if f.db.Name() == "mysql" {
		return f.gateMariaDB(key)
	}
	exec(f, f.db, fmt.Sprintf(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_advisory_xact_lock(%d); RETURN NEW; END $$`, key))
	exec(f, f.db, "CREATE TRIGGER gate BEFORE INSERT ON outbox_claims FOR EACH ROW EXECUTE FUNCTION gate()")
	conn := f.conn()
	if _, err := conn.ExecContext(f.Context(), fmt.Sprintf("SELECT pg_advisory_lock(%d)", key)); err != nil {
		f.Fatal(err)
	}
	return func() {
		f.Helper()
		if _, err := conn.ExecContext(f.Context(), fmt.Sprintf("SELECT pg_advisory_unlock(%d)", key)); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fixture) conn() *sql.Conn {
	f.Helper()
	pool, err := f.db.DB()
	if err != nil {
		f.Fatal(err)
	}
	conn, err := pool.Conn(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	return conn
}

// waiting waits until n statements that contain text wait for a lock.
func (f *fixture) waiting(n int, text string) {
	f.Helper()
	if f.db.Name() == "mysql" {
		f.waitingMariaDB(n, text)
		return
	}
	var schema string
	if err := f.db.Raw("SELECT current_schema()").Row().Scan(&schema); err != nil {
		f.Fatal(err)
	}
	f.eventually(text+" to wait", func() bool {
		var got int
		row := f.db.Raw(`SELECT count(DISTINCT a.pid) FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
			JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace s ON s.oid = c.relnamespace
			WHERE a.wait_event_type = 'Lock' AND s.nspname = ? AND a.query LIKE ?`, schema, "%"+text+"%").Row()
		if err := row.Scan(&got); err != nil {
			f.Fatal(err)
		}
		return got == n
	})
}

// result is what a call in the background returned.
type result[T any] struct {
	value T
	err   error
}

func background[T any](call func() (T, error)) <-chan result[T] {
	c := make(chan result[T], 1)
	go func() {
		v, err := call()
		c <- result[T]{v, err}
	}()
	return c
}

func await[T any](f *fixture, c <-chan result[T]) result[T] {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 20*time.Second)
	defer cancel()
	select {
	case r := <-c:
		return r
	case <-ctx.Done():
		f.Fatal("a call did not return")
		return result[T]{}
	}
}

// marks are what locks have left behind in the lanes.
func (f *fixture) marks() (marks string) {
	f.Helper()
	query := f.db.Raw("SELECT string_agg(xmax::text, ',' ORDER BY lane) FROM outbox_lanes")
	if err := query.Scan(&marks).Error; err != nil {
		f.Fatal(err)
	}
	return marks
}

func TestRace(t *testing.T) {
	t.Run("a_slow_claim_is_recovered_by_the_takeover_that_waits_for_it", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b", "c")
			a, b := f.relay(), f.relay()
			a.acquireFor(shortLease)
			open := f.gate()
			claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), a.request()) })
			f.waiting(1, f.gated())
			f.expired(a)
			taken := background(func() (outbox.Lanes, error) { return b.tryAcquire(testLease) })
			f.waiting(1, "FOR UPDATE")
			open()
			claim := await(f, claimed)
			if claim.err != nil || len(claim.value.Messages) != 3 {
				t.Fatalf("the slow claim got %d messages, %v", len(claim.value.Messages), claim.err)
			}
			if lanes := await(f, taken); lanes.err != nil || len(lanes.value.Held) != 8 {
				t.Fatalf("the takeover got %d lanes, %v", len(lanes.value.Held), lanes.err)
			}
			if n := f.count("outbox_claims"); n != 0 {
				t.Errorf("%d claims that nobody will ever recover", n)
			}
			_, err := f.store.Settle(t.Context(), claim.value, outcomes(claim.value, all(outbox.Delivered)))
			if !errors.Is(err, outbox.ErrClaimLost) {
				t.Errorf("the late settle: %v, want ErrClaimLost", err)
			}
			c := b.claim()
			if len(c.Messages) != 0 || !c.Suspects {
				t.Errorf("claimed %d messages, suspects %v; want the three as suspects", len(c.Messages), c.Suspects)
			}
			f.want(0, 3)
		})
	})
	t.Run("a_claim_that_waited_while_its_lanes_went_and_came_back_gets_nothing", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b", "c")
			a := f.started()
			tx := f.writer().tx
			exec(t, tx, "SELECT lane FROM outbox_lanes ORDER BY lane FOR UPDATE")
			claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), a.request()) })
			f.waiting(1, f.either("WITH mine", "LOCK IN SHARE MODE"))
			exec(t, tx, "UPDATE outbox_lanes SET epoch = epoch + 2") // to another and back, who delivered everything
			exec(t, tx, "DELETE FROM outbox_messages")
			if err := tx.Commit().Error; err != nil {
				t.Fatal(err)
			}
			if c := await(f, claimed); c.err != nil || len(c.value.Messages) != 0 {
				t.Errorf("claimed %d delivered messages, %v", len(c.value.Messages), c.err)
			}
			if n := f.count("outbox_claims"); n != 0 {
				t.Errorf("%d claims, want none", n)
			}
		})
	})
	t.Run("a_claim_that_finds_nothing_writes_nothing", func(t *testing.T) {
		t.Parallel()
		f := onPostgres(t)
		r := f.started()
		before := f.marks()
		if c := r.claim(); len(c.Messages) != 0 {
			t.Fatalf("claimed %d messages of none", len(c.Messages))
		}
		if after := f.marks(); after != before {
			t.Errorf("lanes bear the marks of %s, want those of before, %s", after, before)
		}
	})
	t.Run("a_settle_that_waited_behind_a_takeover_changes_nothing", func(t *testing.T) {
		for name, decide := range map[string]func(*outbox.Claimed) outbox.Outcome{
			"delivered": all(outbox.Delivered),
			"mixed": func(m *outbox.Claimed) outbox.Outcome {
				if m.Key == "a" {
					return outbox.Outcome{Verdict: outbox.Retry, RetryIn: time.Hour}
				}
				return outbox.Outcome{Verdict: outbox.Delivered}
			},
		} {
			t.Run(name, func(t *testing.T) {
				onServers(t, func(t *testing.T, f *fixture) {
					m := f.enqueue("a", "b")
					a := f.started()
					c := a.claim()
					tx := f.writer().tx
					exec(t, tx, "DELETE FROM outbox_claims")
					exec(t, tx, "UPDATE outbox_messages SET state = 4, attempts = 7, available_at = "+f.now())
					settled := background(func() (int, error) { return f.store.Settle(t.Context(), c, outcomes(c, decide)) })
					f.waiting(1, f.either("DELETE FROM", "DELETE c"))
					if err := tx.Commit().Error; err != nil {
						t.Fatal(err)
					}
					if s := await(f, settled); !errors.Is(s.err, outbox.ErrClaimLost) {
						t.Errorf("settled %d, %v; want ErrClaimLost", s.value, s.err)
					}
					if got := f.field(m[0], "attempts"); got != "7" {
						t.Errorf("attempts are %s, want those of the recovery", got)
					}
					f.want(0, 2)
				})
			})
		}
	})
	t.Run("voiding_waits_for_a_claim_whose_answer_was_lost", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("a", "b", "c")
			a := f.started()
			open := f.gate()
			request := a.request()
			claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), request) })
			f.waiting(1, f.gated())
			voided := background(func() (int, error) { return 0, f.store.Void(t.Context(), request) }) // given up waiting
			f.waiting(1, "FOR UPDATE")
			open()
			if v := await(f, voided); v.err != nil {
				t.Fatal(v.err)
			}
			if c := await(f, claimed); c.err != nil || len(c.value.Messages) != len(m) {
				t.Errorf("the answer that comes too late has %d messages, %v", len(c.value.Messages), c.err)
			}
			if n := f.count("outbox_claims"); n != 0 {
				t.Errorf("%d claims are left, want none", n)
			}
			a.acquire()
			if got := len(a.deliver()); got != len(m) {
				t.Errorf("delivered %d messages, want %d", got, len(m))
			}
		})
	})
	t.Run("a_hundred_buriers_have_one_winner", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			pool, err := f.db.DB()
			if err != nil {
				t.Fatal(err)
			}
			pool.SetMaxOpenConns(20)
			m := f.enqueue("a")
			a := f.relay()
			a.acquireFor(shortLease)
			a.claim()
			f.expired(a)
			var results []<-chan result[outbox.Lanes]
			for range 100 {
				b := f.relay()
				results = append(results, background(func() (outbox.Lanes, error) { return b.tryAcquire(testLease) }))
			}
			owners := map[int]int{}
			for _, c := range results {
				r := await(f, c)
				if r.err != nil {
					t.Fatal(r.err)
				}
				for _, l := range r.value.Held {
					owners[l.Lane]++
				}
			}
			for lane, n := range owners {
				if n != 1 {
					t.Errorf("lane %d has %d owners", lane, n)
				}
			}
			if got := f.field(m[0], "attempts"); got != "1" {
				t.Errorf("%s attempts were counted, want 1", got)
			}
		})
	})
	t.Run("a_round_that_recovers_another_session_waits_for_no_lane_of_its_own", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			a, b := f.relay(), f.started()
			settleRounds(a, b)
			for range 14 {
				f.relay().acquire() // so that b has to give lanes back even without a
			}
			b.acquire()
			a.acquireFor(shortLease)
			f.expired(a)
			act := f.writer().tx
			var draining int
			for _, l := range b.lanes {
				if l.Draining {
					exec(t, act, "SELECT lane FROM outbox_lanes WHERE lane = ? FOR UPDATE", l.Lane)
					draining++
				}
			}
			lanes := await(f, background(func() (outbox.Lanes, error) { return b.tryAcquire(testLease) }))
			if lanes.err != nil || draining == 0 {
				t.Fatalf("acquired with %d lanes to give back: %v", draining, lanes.err)
			}
			if err := f.store.RenewLanes(t.Context(), a.id, testLease); !errors.Is(err, outbox.ErrSessionEnded) {
				t.Errorf("the expired session renews: %v, want ErrSessionEnded", err)
			}
			f.do(act.Rollback().Error)
			held := len(b.lanes)
			if b.acquire(); len(b.lanes) != held-draining {
				t.Errorf("holds %d lanes after the next round, want %d", len(b.lanes), held-draining)
			}
		})
	})
}

// expired waits until the database takes a session for dead.
func (f *fixture) expired(r *relay) {
	f.Helper()
	f.eventually("a lease to run out", func() bool {
		var n int
		row := f.db.Raw("SELECT count(*) FROM outbox_sessions WHERE id = ? AND expires_at <= "+f.now(), f.key(r.id)).Row()
		if err := row.Scan(&n); err != nil {
			f.Fatal(err)
		}
		return n == 1
	})
}
