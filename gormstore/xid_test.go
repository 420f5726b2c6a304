package gormstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// A transaction has its id before its messages have their numbers, or the late-commit rule would miss it: with the
// sequence locked, an insert that waits for its number is seen to have an id already.
func TestEnqueue_takes_the_transactions_id_before_a_number(t *testing.T) {
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprintf("messages_%d", n), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
			lock := f.db.Begin()
			defer lock.Rollback()
			exec(t, lock, "ALTER SEQUENCE outbox_messages_seq_seq CACHE 1")

			done := make(chan error, 1)
			go func() {
				done <- f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
					var ms []*outbox.Message
					for range n {
						ms = append(ms, &outbox.Message{Topic: "orders", Type: "OrderPlaced"})
					}
					return tx.Enqueue(t.Context(), ms...)
				})
			}()
			var waiting []bool
			f.eventually("an insert that waits for its number", func() bool {
				waiting = nil
				err := f.db.Raw(`SELECT a.backend_xid IS NOT NULL FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
					WHERE NOT l.granted AND l.relation = 'outbox_messages_seq_seq'::regclass`).Scan(&waiting).Error
				return err == nil && len(waiting) == 1
			})
			if !waiting[0] {
				t.Error("the transaction has no id yet")
			}
			lock.Rollback()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// Most transactions store one message. Whatever is volatile in its statement would keep the parts of the plan apart.
func TestEnqueue_of_one_message_is_a_plan_of_one_step(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
	text, args := f.store.InsertSQL(&outbox.Message{
		ID: uuid.New(), Topic: "orders", Key: "k", Type: "OrderPlaced", Version: 1, AvailableAt: time.Now().Add(time.Hour),
	})
	insert := f.explain(text, args...)
	if len(insert.Plans) != 1 || insert.Plans[0].Node != "Result" || len(insert.Plans[0].Plans) > 0 {
		t.Errorf("got %+v, want an insert of a Result", insert)
	}
}
