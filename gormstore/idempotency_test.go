package gormstore_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/middleware/idempotencytest"
	"github.com/postroom/postroom/outbox"
)

// TestIdempotency runs what every store of idempotency keys must do.
func TestIdempotency(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			idempotencytest.Run(t, func(t *testing.T) idempotencytest.Store {
				return newFixture(t, open(t, gorm.Config{}), 8, gormstore.Config{}).store
			})
		})
	}
}

// reservation is one of a new owner.
func reservation(value string) idempotency.Reservation {
	key := idempotency.Key{Method: "POST", Route: "/orders", Value: value}
	return idempotency.Reservation{Key: key, Owner: uuid.New(), Lease: time.Minute}
}

func (f *fixture) reserve(value string) idempotency.Reservation {
	f.Helper()
	r := reservation(value)
	record, err := f.store.Reserve(f.Context(), r)
	if err != nil || record.Owner != r.Owner {
		f.Fatalf("reserve: %+v, %v", record, err)
	}
	return r
}

func TestIdempotencyKeys(t *testing.T) {
	t.Run("are_refused_inside_a_transaction", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.store.InTransaction(t.Context(), func(ctx context.Context) error {
				_, err := f.store.Reserve(ctx, reservation("k"))
				return err
			})
			if !errors.Is(err, gormstore.ErrInsideTransaction) {
				t.Errorf("got %v, want ErrInsideTransaction", err)
			}
		})
	})
	t.Run("are_refused_with_a_lease_that_ends_as_it_begins", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			r := reservation("k")
			r.Lease = time.Nanosecond
			_, err := f.store.Reserve(t.Context(), r)
			if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Field != "Lease" {
				t.Errorf("got %v, want a FieldError of Lease", err)
			}
		})
	})
	t.Run("ask_for_the_tables", func(t *testing.T) {
		store, err := gormstore.Open(openSQLite(t, gorm.Config{}), gormstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Reserve(t.Context(), reservation("k")); !errors.Is(err, gormstore.ErrSchema) {
			t.Errorf("got %v, want ErrSchema", err)
		}
	})
	t.Run("refuse_an_answer_that_no_row_should_hold", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			r := f.reserve("k")
			err := f.store.InTransaction(t.Context(), func(ctx context.Context) error {
				huge := idempotency.Answer{Status: 200, Body: make([]byte, outbox.MaxPayloadCeiling)}
				return f.store.Complete(ctx, idempotency.Completion{Key: r.Key, Owner: r.Owner, Answer: huge, Keep: time.Hour})
			})
			field, ok := errors.AsType[*outbox.FieldError](err)
			if !ok || field.Code != outbox.CodeTooLong {
				t.Errorf("got %v, want a FieldError of the code %s", err, outbox.CodeTooLong)
			}
		})
	})
	t.Run("are_deleted_an_hour_after_their_time_and_none_before", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.reserve("old")
			f.age("idempotency", "expires_at", 24*time.Hour)
			late := f.reserve("late")
			expired := "UPDATE outbox_idempotency SET expires_at = " + f.past(30*time.Minute) + " WHERE owner = ?"
			exec(t, f.db, expired, late.Owner.String())
			for range 64 {
				f.reserve(uuid.NewString())
			}
			if n := f.count("outbox_idempotency"); n != 65 {
				t.Errorf("%d keys are stored, want 64 that live and one that ended half an hour ago", n)
			}
			if _, err := f.store.Reserve(t.Context(), late); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// past is an instant of the database, as SQL.
func (f *fixture) past(d time.Duration) string {
	if f.db.Name() == "postgres" {
		return f.now() + " - " + micros(d) + " * interval '1 microsecond'"
	}
	return f.now() + " - " + micros(d)
}

// age moves a column of all rows back.
func (f *fixture) age(table, column string, d time.Duration) {
	f.Helper()
	exec(f, f.db, "UPDATE outbox_"+table+" SET "+column+" = "+f.past(d))
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
