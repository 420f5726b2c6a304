package gormstore_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

// What changes other rows between the look and the statement is a callback, as plugins of GORM have them.
func TestCaptureOthers(t *testing.T) {
	for name, change := range map[string]func(db *gorm.DB) error{
		"update": func(db *gorm.DB) error { return db.Model(&product{}).Where("price = ?", 2).Update("name", "x").Error },
		"delete": func(db *gorm.DB) error { return db.Unscoped().Where("price = ?", 2).Delete(&product{}).Error },
		"update_of_what_was_no_row": func(db *gorm.DB) error {
			return db.Model(&product{}).Where("price = ?", 20).Update("name", "x").Error
		},
		"delete_of_what_was_no_row": func(db *gorm.DB) error {
			return db.Unscoped().Where("price = ?", 20).Delete(&product{}).Error
		},
	} {
		t.Run("a_statement_that_changes_other_rows_than_were_read_is_refused/"+name, func(t *testing.T) {
			onEachCapturing(t, func(t *testing.T, f *fixture) {
				f.threeProducts()
				meddle := func(db *gorm.DB) {
					pool := db.Statement.ConnPool
					for _, text := range []string{
						"UPDATE products SET price = 2 WHERE name = 'a'", "UPDATE products SET price = 20 WHERE name = 'c'",
					} {
						if _, err := pool.ExecContext(t.Context(), text); err != nil {
							t.Error(err)
						}
					}
				}
				err := errors.Join(
					f.db.Callback().Update().Before("gorm:update").After("postroom:before").Register("meddle", meddle),
					f.db.Callback().Delete().Before("gorm:delete").After("postroom:before").Register("meddle", meddle),
				)
				if err != nil {
					t.Fatal(err)
				}
				err = change(f.db)
				refused, ok := errors.AsType[*gormstore.CaptureError](err)
				if !ok || !strings.Contains(refused.Reason, "try again") {
					t.Errorf("got %v, want a CaptureError that says to try again", err)
				}
				f.wantCaptured()
				if n := f.names(); n != "a b c" {
					t.Errorf("products are %s", n)
				}
			})
		})
	}
}

// What is feared: rows that an update changes are others than those that were read, because somebody wrote in between.
func TestCaptureRace(t *testing.T) {
	f := newCapturing(t, openPostgres(t, gorm.Config{}))
	f.threeProducts()
	other := f.writer().tx
	if err := other.Model(&product{ID: 2}).Update("price", 50).Error; err != nil {
		t.Fatal(err)
	}
	done := background(func() (bool, error) {
		return true, f.db.Model(&product{}).Where("price < ?", 10).Update("name", "cheap").Error
	})
	f.waiting(1, "FOR UPDATE")
	if err := other.Commit().Error; err != nil {
		t.Fatal(err)
	}
	if r := await(f, done); r.err != nil {
		t.Fatal(r.err)
	}
	f.wantCaptured("updated 2 b 50", "updated 1 cheap 1", "updated 3 cheap 3")
}
