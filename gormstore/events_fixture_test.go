package gormstore_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// article raises events.
type article struct {
	gormstore.Events
	ID      string `gorm:"primaryKey;size:40"`
	Title   string
	Notes   []note
	onSave  func(a *article)
	Deleted gorm.DeletedAt
}

func (a *article) AfterCreate(*gorm.DB) error {
	if a.onSave != nil {
		a.onSave(a)
	}
	return nil
}

// note belongs to an article, and raises events of its own.
type note struct {
	gormstore.Events
	ID        uint   `gorm:"primaryKey"`
	ArticleID string `gorm:"size:40"`
}

type happened struct{ What string }

type unknown struct{}

func newRegistry(t testing.TB) *outbox.Registry {
	t.Helper()
	r, err := outbox.NewRegistry(outbox.Event[happened]{Type: "Happened", Topic: "articles"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// onEachRaising is onEach with a registry and the models.
func onEachRaising(t *testing.T, check func(t *testing.T, f *fixture)) {
	t.Helper()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newRaising(t, open(t, gorm.Config{})))
		})
	}
}

func newRaising(t testing.TB, db *gorm.DB) *fixture {
	t.Helper()
	f := newFixture(t, db, 1, gormstore.Config{Registry: newRegistry(t)})
	if err := db.AutoMigrate(&article{}, &note{}); err != nil {
		t.Fatal(err)
	}
	return f
}

func raising(id string, whats ...string) *article {
	a := &article{ID: id}
	for _, w := range whats {
		a.Raise(happened{w})
	}
	return a
}

// happenings are what the stored messages say, in their order.
func (f *fixture) happenings() []string {
	f.Helper()
	var payloads []string
	if err := f.db.Table("outbox_messages").Order("seq").Pluck("payload", &payloads).Error; err != nil {
		f.Fatal(err)
	}
	var whats []string
	for _, p := range payloads {
		var e happened
		if err := json.Unmarshal([]byte(p), &e); err != nil {
			f.Fatal(err)
		}
		whats = append(whats, e.What)
	}
	return whats
}

func (f *fixture) wantHappened(whats ...string) {
	f.Helper()
	if diff := cmp.Diff(whats, f.happenings()); diff != "" {
		f.Errorf("stored events (-want +got):\n%s", diff)
	}
}

// inTx runs fn in a transaction that GORM begins, and expects want of it.
func (f *fixture) inTx(want error, fn func(tx *gorm.DB) error) {
	f.Helper()
	if err := f.db.Transaction(fn); !errors.Is(err, want) {
		f.Errorf("transaction: got %v, want %v", err, want)
	}
}
