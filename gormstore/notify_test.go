package gormstore_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// twoProcesses are two stores of one outbox, each with a pool of its own. The connections of the second one have a
// name by which its listener is found.
func twoProcesses(t *testing.T) (a, b *fixture) {
	t.Helper()
	address := postgresAddress(t)
	a = newFixture(t, open(t, postgres.Open(address), gorm.Config{}), 8, gormstore.Config{})
	return a, a.process(address, gormstore.Config{})
}

// process opens another store at address.
func (f *fixture) process(address string, config gormstore.Config) *fixture {
	f.Helper()
	name := testservices.Name("listener")
	db := open(f, postgres.Open(withParameter(f, address, "application_name", name)), gorm.Config{})
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	store, err := gormstore.Open(db, config)
	if err != nil {
		f.Fatal(err)
	}
	return &fixture{TB: f.TB, db: db, store: store}
}

// listeners are the server's processes that listen for f's store.
func (f *fixture) listeners() (pids []int) {
	f.Helper()
	err := f.db.Raw(`SELECT pid FROM pg_stat_activity
		WHERE application_name = current_setting('application_name') AND state = 'idle' AND query LIKE 'LISTEN%'`).
		Scan(&pids).Error
	if err != nil {
		f.Fatal(err)
	}
	return pids
}

// listening subscribes and waits until other processes are heard.
func (f *fixture) listening() <-chan []int {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	woken := f.store.Wake(ctx)
	f.Cleanup(func() { cancel(); drainNews(woken) })
	f.eventually("the listener", func() bool { return len(f.listeners()) == 1 })
	return woken
}

func drainNews(woken <-chan []int) {
	for range woken { // until it is closed, and with it everything that served it
	}
}

func TestNotify(t *testing.T) {
	t.Run("wakes_the_relay_of_another_process", func(t *testing.T) {
		t.Parallel()
		a, b := twoProcesses(t)
		published := make(chan string)
		relay, err := outbox.NewRelay(b.store, outbox.PublisherFunc(func(_ context.Context, m *outbox.Message) error {
			published <- m.Key
			return nil
		}), outbox.RelayConfig{Poll: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := background(func() (struct{}, error) { return struct{}{}, relay.Run(ctx) })
		b.eventually("the listener", func() bool { return len(b.listeners()) == 1 })
		deadline := time.After(20 * time.Second) // by polling it would take a minute
		for i := range 20 {
			key := fmt.Sprint(i)
			a.enqueue(key)
			select {
			case got := <-published:
				if got != key {
					t.Errorf("published %s, want %s", got, key)
				}
			case <-deadline:
				t.Fatalf("message %d was not published", i)
			}
		}
		cancel()
		if r := await(b, done); r.err != nil {
			t.Error(r.err)
		}
	})
	t.Run("names_the_lanes_and_tells_nobody_of_a_rollback", func(t *testing.T) {
		t.Parallel()
		a, b := twoProcesses(t)
		woken := b.listening()
		keys := keysOfLanes(8)
		_ = a.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
			return errors.Join(tx.Enqueue(t.Context(), message(keys[3])), errUndo)
		})
		a.enqueue(keys[5], keys[1])
		if got := b.woken(woken); !slices.Equal(got, []int{1, 5}) {
			t.Errorf("woke lanes %v, want 1 and 5", got)
		}
	})
	t.Run("does_not_wake_the_process_that_committed_a_second_time", func(t *testing.T) {
		t.Parallel()
		a, b := twoProcesses(t)
		woken, heard := b.listening(), a.ear()
		keys := keysOfLanes(8)
		b.enqueue(keys[2])
		if got := b.woken(woken); !slices.Equal(got, []int{2}) {
			t.Errorf("woke lanes %v, want 2", got)
		}
		b.eventually("the announcement", func() bool { return slices.Contains(heard(), "2") })
		a.enqueue(keys[4])
		if got := b.woken(woken); !slices.Equal(got, []int{4}) {
			t.Errorf("woke lanes %v, want 4 alone", got)
		}
	})
	t.Run("tells_of_lanes_that_were_given_up_and_of_operators", func(t *testing.T) {
		t.Parallel()
		a, b := twoProcesses(t)
		r, heard := a.started(), a.ear()
		keys := keysOfLanes(8)
		parked := a.enqueue(keys[6])
		r.settle(r.claim(), all(outbox.ParkKey))
		a.eventually("the announcement of the commit", func() bool { return slices.Contains(heard(), "6") })
		woken := b.listening()
		act := outbox.Act{By: "me", Reason: "a test"}
		if _, err := a.store.Requeue(t.Context(), act, ids(parked...)...); err != nil {
			t.Fatal(err)
		}
		if got := b.woken(woken); !slices.Equal(got, []int{6}) {
			t.Errorf("woke lanes %v, want 6", got)
		}
		if err := a.store.ReleaseLanes(t.Context(), r.id); err != nil {
			t.Fatal(err)
		}
		if got := b.woken(woken); got == nil || len(got) > 0 {
			t.Errorf("woke lanes %v, want an empty list", got)
		}
	})
	t.Run("listens_again_when_the_connection_is_lost_and_looks_everywhere", func(t *testing.T) {
		t.Parallel()
		a, b := twoProcesses(t)
		woken := b.listening()
		for range 3 {
			for _, pid := range b.listeners() {
				exec(t, a.db, "SELECT pg_terminate_backend(?)", pid)
			}
			if got := b.woken(woken); got != nil {
				t.Errorf("woke lanes %v, want any", got)
			}
			if got := b.woken(woken); got == nil || len(got) > 0 {
				t.Errorf("woke lanes %v, want an empty list", got)
			}
			a.enqueue("a")
			if got := b.woken(woken); len(got) != 1 {
				t.Errorf("woke lanes %v, want one", got)
			}
		}
	})
	t.Run("coalesces_what_is_committed_in_quick_succession", func(t *testing.T) {
		t.Parallel()
		a, _ := twoProcesses(t)
		heard, keys, start := a.ear(), keysOfLanes(8), time.Now()
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for range 250 {
					a.enqueue(keys[0], keys[1])
				}
			})
		}
		writers.Wait()
		a.enqueue(keys[7])
		a.eventually("the last announcement", func() bool { return strings.HasSuffix(strings.Join(heard(), " "), " 7") })
		took := time.Since(start)
		if n, most := len(heard()), int(took/(20*time.Millisecond))+2; n > most {
			t.Errorf("%d announcements of 1001 commits in %v, want at most %d", n, took, most)
		}
	})
	t.Run("ends_with_its_last_subscriber_and_leaves_no_connection", func(t *testing.T) {
		t.Parallel()
		_, b := twoProcesses(t)
		pool, err := b.db.DB()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			one, endOne := context.WithCancel(t.Context())
			two, endTwo := context.WithCancel(t.Context())
			first, second := b.store.Wake(one), b.store.Wake(two)
			b.eventually("the listener", func() bool { return len(b.listeners()) == 1 })
			endOne()
			drainNews(first)
			b.eventually("one connection in use", func() bool { return pool.Stats().InUse == 1 })
			if n := len(b.listeners()); n != 1 {
				t.Errorf("%d listeners while one subscriber is left, want 1", n)
			}
			endTwo()
			drainNews(second)
			if n := pool.Stats().InUse; n != 0 {
				t.Errorf("%d connections in use when all subscribers are gone, want none", n)
			}
			b.eventually("the end of the listener", func() bool { return len(b.listeners()) == 0 })
		}
	})
}

// ear listens to all announcements of f's outbox and returns them so far, without their speakers.
func (f *fixture) ear() (heard func() []string) {
	f.Helper()
	conn := f.conn()
	var channel string
	row := conn.QueryRowContext(f.Context(), "SELECT 'outbox_' || md5(current_schema() || '.outbox_meta')")
	if err := row.Scan(&channel); err != nil {
		f.Fatal(err)
	}
	if _, err := conn.ExecContext(f.Context(), "LISTEN "+channel); err != nil {
		f.Fatal(err)
	}
	var mu sync.Mutex
	var words []string
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = conn.Raw(func(c any) error {
			for {
				n, err := c.(*stdlib.Conn).Conn().WaitForNotification(ctx)
				if err != nil {
					return driver.ErrBadConn
				}
				_, said, _ := strings.Cut(n.Payload, " ")
				mu.Lock()
				words = append(words, said)
				mu.Unlock()
			}
		})
	}()
	f.Cleanup(func() { cancel(); <-done })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(words)
	}
}

// keysOfLanes returns a key for each of n lanes.
func keysOfLanes(n int) []string {
	keys := make([]string, n)
	for i, found := 0, 0; found < n; i++ {
		key := fmt.Sprint("key-", i)
		if lane := outbox.LaneOf(message(key), n); keys[lane] == "" {
			keys[lane] = key
			found++
		}
	}
	return keys
}
