package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// handling writes an order in the transaction of the inbox, and then ends as it is told.
func (f *fixture) handling(order string, end error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		tx, ok := f.store.FromContext(ctx)
		if !ok {
			return outbox.ErrNoTransaction
		}
		return errors.Join(both(ctx, tx, order), end)
	}
}

func (f *fixture) once(handler, id string, handle func(ctx context.Context) error, want bool) {
	f.Helper()
	if got, err := f.store.Once(f.Context(), handler, id, handle); err != nil || got != want {
		f.Errorf("message %s for %s: got %v, %v; want %v", id, handler, got, err, want)
	}
}

func TestInbox(t *testing.T) {
	t.Run("handles_a_message_once_for_each_handler", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.once("ship", "m-1", f.handling("1", nil), true)
			f.once("ship", "m-1", f.handling("2", nil), false)
			f.once("bill", "m-1", f.handling("3", nil), true)
			f.once("ship", "M-1", f.handling("4", nil), true)
			f.want(3, 3)
		})
	})
	t.Run("forgets_a_message_whose_handler_fails_and_all_that_it_wrote", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			for range 2 {
				if _, err := f.store.Once(t.Context(), "ship", "m-1", f.handling("1", errUndo)); !errors.Is(err, errUndo) {
					t.Errorf("got %v, want the handler's error", err)
				}
				func() {
					defer func() { _ = recover() }()
					_, _ = f.store.Once(t.Context(), "ship", "m-1", func(ctx context.Context) error {
						_ = f.handling("1", nil)(ctx)
						panic("undo")
					})
				}()
			}
			f.want(0, 0)
			f.once("ship", "m-1", f.handling("1", nil), true)
			f.want(1, 1)
		})
	})
	t.Run("remembers_nothing_when_the_commit_is_refused", func(t *testing.T) {
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
		exec(t, f.db, "CREATE TABLE children (parent text REFERENCES orders DEFERRABLE INITIALLY DEFERRED)")
		handled, err := f.store.Once(t.Context(), "ship", "m-1", func(ctx context.Context) error {
			tx, _ := f.store.FromContext(ctx)
			return tx.Exec("INSERT INTO children VALUES ('nobody')").Error
		})
		if err == nil || handled {
			t.Errorf("got %v, %v; want the violated constraint", handled, err)
		}
		f.once("ship", "m-1", f.handling("1", nil), true)
	})
	t.Run("joins_the_transaction_of_its_context", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.store.InTransaction(t.Context(), func(ctx context.Context) error {
				_, err := f.store.Once(ctx, "ship", "m-1", f.handling("1", nil))
				return errors.Join(err, errUndo)
			})
			if !errors.Is(err, errUndo) {
				t.Errorf("got %v", err)
			}
			f.want(0, 0)
			f.once("ship", "m-1", f.handling("1", nil), true)
		})
	})
	t.Run("refuses_names_that_a_table_cannot_tell_apart", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			for _, c := range []struct {
				handler, id, field string
				code               outbox.Code
			}{
				{"", "m", "Handler", outbox.CodeMissing},
				{"h", "", "ID", outbox.CodeMissing},
				{strings.Repeat("h", 256), "m", "Handler", outbox.CodeTooLong},
				{"h", "m\x00", "ID", outbox.CodeControl},
				{"h", "\xff", "ID", outbox.CodeNotUTF8},
			} {
				_, err := f.store.Once(t.Context(), c.handler, c.id, f.handling("1", nil))
				field, ok := errors.AsType[*outbox.FieldError](err)
				if !ok || field.Field != c.field || field.Code != c.code {
					t.Errorf("%q %q: got %v, want a FieldError of %s", c.handler, c.id, err, c.field)
				}
			}
			f.want(0, 0)
		})
	})
}

// What is feared: a message comes to two consumers at once. The first has claimed it and writes; the second must not
// run beside it, and not at all if the first commits.
func TestInboxRace(t *testing.T) {
	for end, want := range map[error]string{
		nil: "lets_the_first_commit", errUndo: "runs_the_second_when_the_first_fails",
	} {
		t.Run(want, func(t *testing.T) {
			onEach(t, func(t *testing.T, f *fixture) {
				claimed, finish := make(chan struct{}), make(chan struct{})
				first := background(func() (bool, error) {
					return f.store.Once(t.Context(), "ship", "m-1", func(ctx context.Context) error {
						close(claimed)
						<-finish
						return f.handling("1", end)(ctx)
					})
				})
				<-claimed
				second := background(func() (bool, error) {
					return f.store.Once(t.Context(), "ship", "m-1", f.handling("2", nil))
				})
				if f.db.Name() == "postgres" {
					f.waiting(1, "INSERT INTO %inbox%")
				}
				f.want(0, 0)
				close(finish)
				if r := await(f, first); !errors.Is(r.err, end) || r.value != (end == nil) {
					t.Errorf("the first: %v, %v", r.value, r.err)
				}
				if r := await(f, second); r.err != nil || r.value != (end != nil) {
					t.Errorf("the second: %v, %v", r.value, r.err)
				}
				f.want(1, 1)
			})
		})
	}
	t.Run("of_many_runs_one", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			var calls []<-chan result[bool]
			for i := range 20 {
				calls = append(calls, background(func() (bool, error) {
					return f.store.Once(t.Context(), "ship", "m-1", f.handling(fmt.Sprint(i), nil))
				}))
			}
			ran := 0
			for _, c := range calls {
				r := await(f, c)
				if r.err != nil {
					t.Error(r.err)
				}
				if r.value {
					ran++
				}
			}
			if ran != 1 {
				t.Errorf("%d ran, want one", ran)
			}
			f.want(1, 1)
		})
	})
}

func TestInboxRetention(t *testing.T) {
	t.Run("shorter_than_the_replay_window_is_refused", func(t *testing.T) {
		db := openSQLite(t, gorm.Config{})
		for _, c := range []gormstore.Config{
			{InboxRetention: 7 * 24 * time.Hour},
			{ReplayWindow: time.Hour, InboxRetention: time.Hour},
			{ReplayWindow: -time.Hour, InboxRetention: -time.Minute},
		} {
			if _, err := gormstore.Open(db, c); !errors.Is(err, gormstore.ErrRetention) {
				t.Errorf("%v, %v: got %v, want ErrRetention", c.ReplayWindow, c.InboxRetention, err)
			}
		}
	})
	t.Run("is_kept_and_then_the_oldest_are_deleted", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			for i := range 3 {
				f.once("ship", fmt.Sprint("old-", i), f.handling(fmt.Sprint("old-", i), nil), true)
			}
			f.age("inbox", "handled_at", 9*24*time.Hour)
			f.once("ship", "recent", f.handling("recent", nil), true)
			exec(t, f.db, "UPDATE outbox_inbox SET handled_at = "+f.past(7*24*time.Hour)+" WHERE id = 'recent'")
			for i := range 60 {
				f.once("ship", fmt.Sprint(i), func(context.Context) error { return nil }, true)
			}
			if n := f.count("outbox_inbox"); n != 61 {
				t.Errorf("%d messages are remembered, want those of the last eight days, 61", n)
			}
			f.once("ship", "recent", f.handling("again", nil), false)
		})
	})
}
