package gormstore_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// product is a plain model, whose key the database gives.
type product struct {
	ID      uint `gorm:"primaryKey"`
	Name    string
	Price   int
	Deleted gorm.DeletedAt
}

// line has a key of two columns.
type line struct {
	OrderID int `gorm:"primaryKey;autoIncrement:false"`
	Number  int `gorm:"primaryKey;autoIncrement:false"`
	Text    string
}

// withTimes are the databases whose drivers can read the times of models, as GORM asks for.
func withTimes() map[string]func(t testing.TB, config gorm.Config) *gorm.DB {
	all := maps.Clone(databases)
	all["mariadb"] = func(t testing.TB, config gorm.Config) *gorm.DB {
		t.Helper()
		address := mariadbAddress(t)
		address.ParseTime = true
		return open(t, mysql.Open(address.FormatDSN()), config)
	}
	return all
}

func onEachCapturing(t *testing.T, check func(t *testing.T, f *fixture)) {
	t.Helper()
	for name, open := range withTimes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newCapturing(t, open(t, gorm.Config{})))
		})
	}
}

// newCapturing captures products and lines. The key of a message says what became of which row.
func newCapturing(t testing.TB, db *gorm.DB) *fixture {
	t.Helper()
	f := newFixture(t, db, 1, gormstore.Config{Registry: newRegistry(t)})
	if err := db.AutoMigrate(&product{}, &line{}); err != nil {
		t.Fatal(err)
	}
	say := func(what string) func(context.Context, *product) (*outbox.Message, error) {
		return func(_ context.Context, p *product) (*outbox.Message, error) {
			switch p.Name {
			case "secret":
				return nil, nil
			case "broken":
				return nil, errUndo
			}
			return message(fmt.Sprintf("%s %d %s %d", what, p.ID, p.Name, p.Price)), nil
		}
	}
	err := gormstore.Capture(f.store, gormstore.CaptureConfig[product]{
		Created: say("created"), Updated: say("updated"), Deleted: say("deleted"),
	})
	if err != nil {
		t.Fatal(err)
	}
	of := func(what string) func(context.Context, *line) (*outbox.Message, error) {
		return func(_ context.Context, l *line) (*outbox.Message, error) {
			return message(fmt.Sprintf("%s %d/%d %s", what, l.OrderID, l.Number, l.Text)), nil
		}
	}
	err = gormstore.Capture(f.store, gormstore.CaptureConfig[line]{
		Updated: of("updated"), Deleted: of("deleted"), Upserted: of("upserted"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// forget removes what was captured so far.
func (f *fixture) forgetMessages() {
	f.Helper()
	exec(f, f.db, "DELETE FROM outbox_messages")
}

func (f *fixture) wantCaptured(want ...string) {
	f.Helper()
	var got []string
	if err := f.db.Table("outbox_messages").Order("seq").Pluck("key", &got).Error; err != nil {
		f.Fatal(err)
	}
	if diff := cmp.Diff(want, append([]string(nil), got...)); diff != "" {
		f.Errorf("captured (-want +got):\n%s", diff)
	}
}

// threeProducts are a of 1, b of 2 and c of 3, with the keys 1 to 3.
func (f *fixture) threeProducts() {
	f.Helper()
	list := []product{{Name: "a", Price: 1}, {Name: "b", Price: 2}, {Name: "c", Price: 3}}
	if err := f.db.Create(&list).Error; err != nil {
		f.Fatal(err)
	}
	f.forgetMessages()
}

// names are those of all products.
func (f *fixture) names() string {
	f.Helper()
	var names []string
	if err := f.db.Table("products").Order("id").Pluck("name", &names).Error; err != nil {
		f.Fatal(err)
	}
	all := ""
	for i, n := range names {
		if i > 0 {
			all += " "
		}
		all += n
	}
	return all
}
