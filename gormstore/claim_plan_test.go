package gormstore_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

func TestStore_ClaimPlan(t *testing.T) {
	t.Parallel()
	t.Run("tells_whether_a_claim_would_read_the_whole_table", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
		f.burst(50_000)
		exec(t, f.db, "ANALYZE outbox_messages")
		f.wantPlan(false)
		exec(t, f.db, "DROP INDEX outbox_messages_ready")
		f.wantPlan(true)
		if n := f.count("outbox_claims"); n != 0 {
			t.Errorf("%d claims were made", n)
		}
	})
	t.Run("is_not_known_on_other_databases", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		if _, err := f.store.ClaimPlan(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	})
}

// wantPlan asks twice: nothing of the first question is left.
func (f *fixture) wantPlan(wholeTable bool) {
	f.Helper()
	for range 2 {
		plan, err := f.store.ClaimPlan(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		if plan.WholeTable != wholeTable || plan.Bytes < 50_000*200 {
			f.Errorf("got %+v, want WholeTable %v", plan, wholeTable)
		}
	}
}
