package gormstore_test

import (
	"context"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// shelf names its table with the schema that it is in; SQLite calls its first one main.
type shelf struct {
	ID   int
	Name string
}

func (shelf) TableName() string { return "main.shelves" }

// shelfCopy is another model, whose table has the same name in another schema.
type shelfCopy struct {
	ID   int
	Name string
}

func (shelfCopy) TableName() string { return "temp.shelves" }

func TestCaptureTable(t *testing.T) {
	capturing := func(t *testing.T) *fixture {
		t.Helper()
		db := openSQLite(t, gorm.Config{})
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1) // the temporary schema is a connection's own
		f := newCapturing(t, db)
		exec(t, f.db, "CREATE TABLE main.shelves (id integer PRIMARY KEY, name text)")
		exec(t, f.db, "CREATE TABLE temp.products_copy AS SELECT * FROM products")
		say := func(what string) func(context.Context, *shelf) (*outbox.Message, error) {
			return func(_ context.Context, s *shelf) (*outbox.Message, error) { return message(what + " " + s.Name), nil }
		}
		f.do(gormstore.Capture(f.store, gormstore.CaptureConfig[shelf]{
			Created: say("created"), Updated: say("updated"), Deleted: say("deleted"),
		}))
		return f
	}
	t.Run("of_a_model_that_names_its_schema", func(t *testing.T) {
		f := capturing(t)
		f.do(f.db.Create(&shelf{1, "a"}).Error)
		f.do(f.db.Model(&shelf{}).Where("id = ?", 1).Update("name", "b").Error)
		f.do(f.db.Delete(&shelf{ID: 1}).Error)
		f.wantCaptured("created a", "updated b", "deleted b")
	})
	t.Run("is_not_one_of_the_same_name_in_another_schema", func(t *testing.T) {
		f := capturing(t)
		exec(t, f.db, "CREATE TABLE temp.shelves (id integer PRIMARY KEY, name text)")
		f.do(f.db.Create(&shelfCopy{1, "a"}).Error)
		f.do(f.db.Model(&shelfCopy{ID: 1}).Update("name", "b").Error)
		f.wantCaptured()
	})
	t.Run("may_be_named_as_the_model_does", func(t *testing.T) {
		f := capturing(t)
		f.do(f.db.Table("products").Create(&product{Name: "x"}).Error)
		f.do(f.db.Table("main.shelves").Create(&shelf{1, "a"}).Error)
		f.wantCaptured("created 1 x 0", "created a")
	})
	for name, change := range map[string]func(db *gorm.DB) error{
		"by_an_alias": func(db *gorm.DB) error {
			return db.Table("products AS p").Where("id = 1").Updates(&product{Name: "x"}).Error
		},
		"with_its_schema": func(db *gorm.DB) error { return db.Table("main.products").Create(&product{Name: "x"}).Error },
		"past_it": func(db *gorm.DB) error {
			return db.Table("main.products").Where("id = 1").Update("name", "x").Error
		},
		"that_is_another": func(db *gorm.DB) error {
			return db.Table("temp.products_copy").Create(&product{Name: "x"}).Error
		},
	} {
		t.Run("is_refused_where_the_model_is_written_to_one_"+name, func(t *testing.T) {
			f := capturing(t)
			f.threeProducts()
			if _, ok := errors.AsType[*gormstore.CaptureError](change(f.db)); !ok {
				t.Error("want a CaptureError")
			}
			f.wantCaptured()
			if n := f.names(); n != "a b c" {
				t.Errorf("products are %s", n)
			}
		})
	}
}
