package customstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	customstore "github.com/postroom/postroom/examples/custom-store"
	"github.com/postroom/postroom/outbox"
)

// held is a table that stops before it writes the mark of a transaction, until it may.
type held struct {
	customstore.Table
	reached, proceed chan struct{}
}

func (h held) CompareAndSwap(key string, version int64, value []byte) bool {
	if strings.HasPrefix(key, "tx/") {
		close(h.reached)
		<-h.proceed
	}
	return h.Table.CompareAndSwap(key, version, value)
}

// watched is a table that lets something happen once it has said that a mark is not there.
type watched struct {
	customstore.Table
	missed func()
}

func (w *watched) Get(key string) customstore.Row {
	row := w.Table.Get(key)
	if missed := w.missed; strings.HasPrefix(key, "tx/") && row.Version == 0 && missed != nil {
		w.missed = nil
		missed()
	}
	return row
}

// enqueue commits messages of one key in one transaction.
func enqueue(t *testing.T, store *customstore.Store, key string, payloads ...string) {
	t.Helper()
	err := store.InTransaction(t.Context(), func(ctx context.Context) error {
		for _, p := range payloads {
			m := &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: key, Payload: []byte(p)}
			if err := store.Enqueue(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	t.Run("leaves_alone_what_was_numbered_after_it_had_passed_an_earlier_message_by", func(t *testing.T) {
		t.Parallel()
		table := customstore.NewMemory()
		slow := held{table, make(chan struct{}), make(chan struct{})}
		first := make(chan struct{})
		go func() {
			defer close(first)
			enqueue(t, customstore.New(slow, 1), "k", "1")
		}()
		<-slow.reached                              // its row is there, and does not count yet
		filler := slices.Repeat([]string{"x"}, 255) // a page of a scan is full
		enqueue(t, customstore.New(table, 1), "", filler...)
		reader := customstore.New(&watched{table, func() {
			close(slow.proceed)
			<-first
			enqueue(t, customstore.New(table, 1), "k", "2")
		}}, 1)
		r := outbox.LaneRequest{Session: uuid.New(), Relay: "reader", Lease: time.Minute}
		lanes, err := reader.AcquireLanes(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 2 {
			c, err := reader.Claim(t.Context(), outbox.ClaimRequest{
				Token: uuid.New(), Session: r.Session, Lanes: lanes.Held, Limit: 1000, Bytes: 1 << 20,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range c.Messages {
				if m.Key == "k" {
					got = append(got, string(m.Payload))
				}
			}
		}
		if want := []string{"1", "2"}; !slices.Equal(got, want) {
			t.Errorf("claimed %v of the key, want %v", got, want)
		}
	})
}
