package gormstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func TestStore_Delivered(t *testing.T) {
	t.Run("reads_what_the_archive_has_of_a_topic", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			first, second, other := message("a"), message(""), message("a")
			other.Topic = "invoices"
			f.store1(first)
			f.store1(second)
			f.store1(other)
			f.store1(message("parked"))
			r := f.started()
			r.settle(r.claim(), func(m *outbox.Claimed) outbox.Outcome {
				if m.Key == "parked" {
					return outbox.Outcome{Verdict: outbox.ParkKey}
				}
				return outbox.Outcome{Verdict: outbox.Delivered}
			})
			now, err := f.store.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := map[uuid.UUID]gormstore.Delivery{}
			for d, err := range f.store.Delivered(t.Context(), "orders", time.Hour) {
				if err != nil {
					t.Fatal(err)
				}
				got[d.ID] = d
				if d.Topic != "orders" || d.Scheduled || d.Attempts != 0 || d.DeliveredAt.Before(d.CreatedAt) ||
					d.DeliveredAt.After(now) || now.Sub(d.CreatedAt) > time.Hour {
					t.Errorf("got %+v at %v", d, now)
				}
			}
			if len(got) != 2 || got[first.ID].Key != "a" || got[second.ID].Key != "" ||
				got[first.ID].Number == 0 || got[first.ID].Number == got[second.ID].Number {
				t.Errorf("got %+v", got)
			}
		})
	})
	t.Run("leaves_out_what_was_delivered_earlier", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			f.enqueue("a")
			r := f.started()
			r.settle(r.claim(), all(outbox.Delivered))
			f.agedBy(time.Minute)
			for d, err := range f.store.Delivered(t.Context(), "orders", 30*time.Second) {
				t.Errorf("got %+v, %v", d, err)
			}
		})
	})
	t.Run("tells_in_the_end_that_there_are_no_tables", func(t *testing.T) {
		store, err := gormstore.Open(openSQLite(t, gorm.Config{}), gormstore.Config{Name: "none"})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range store.Delivered(t.Context(), "orders", time.Hour) {
			if err == nil {
				t.Error("got a message")
			}
		}
	})
}

func TestStore_Delivery(t *testing.T) {
	t.Run("reads_what_the_archive_has_of_a_message", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			m := message("a")
			r := f.started()
			for range 2 { // an id may come again
				f.store1(m)
				r.settle(r.claim(), all(outbox.Delivered))
				f.agedBy(time.Minute)
			}
			now, err := f.store.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			d, found, err := f.store.Delivery(t.Context(), m.ID)
			if err != nil || !found {
				t.Fatalf("found is %v, %v", found, err)
			}
			if age := now.Sub(d.DeliveredAt); d.ID != m.ID || d.Topic != "orders" || d.Key != "a" || d.Number == 0 ||
				age < time.Minute || age > 2*time.Minute {
				t.Errorf("got %+v at %v, want the latest delivery", d, now)
			}
		})
	})
	t.Run("finds_nothing_of_what_was_not_delivered", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("a")[0]
			for _, id := range []uuid.UUID{m.ID, uuid.New()} {
				if d, found, err := f.store.Delivery(t.Context(), id); found || err != nil {
					t.Errorf("got %+v, %v", d, err)
				}
			}
		})
	})
	t.Run("tells_that_there_are_no_tables", func(t *testing.T) {
		store, err := gormstore.Open(openSQLite(t, gorm.Config{}), gormstore.Config{Name: "none"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.Delivery(t.Context(), uuid.New()); !errors.Is(err, gormstore.ErrSchema) {
			t.Errorf("got %v, want ErrSchema", err)
		}
	})
}
