package gormstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func TestCapture(t *testing.T) {
	t.Run("makes_one_message_for_each_row_with_its_real_key", func(t *testing.T) {
		for name, c := range map[string]struct {
			change func(db *gorm.DB) error
			want   []string
		}{
			"create": {func(db *gorm.DB) error {
				return db.Create(&product{Name: "x"}).Error
			}, []string{"created 4 x 0"}},
			"create_a_value": {func(db *gorm.DB) error {
				return db.Create(&[]product{{Name: "x"}, {Name: "y"}}).Error
			}, []string{"created 4 x 0", "created 5 y 0"}},
			"create_in_batches": {func(db *gorm.DB) error {
				return db.CreateInBatches([]*product{{Name: "x"}, {Name: "y"}, {Name: "z"}}, 2).Error
			}, []string{"created 4 x 0", "created 5 y 0", "created 6 z 0"}},
			"create_generic": {func(db *gorm.DB) error {
				return gorm.G[product](db).Create(context.Background(), &product{Name: "x"})
			}, []string{"created 4 x 0"}},
			"save_new": {func(db *gorm.DB) error {
				return db.Save(&product{Name: "x"}).Error
			}, []string{"created 4 x 0"}},
			"save_new_with_a_key": {func(db *gorm.DB) error {
				return db.Save(&product{ID: 9, Name: "x"}).Error
			}, []string{"created 9 x 0"}},
			"save": {func(db *gorm.DB) error {
				return db.Save(&product{ID: 2, Name: "x", Price: 7}).Error
			}, []string{"updated 2 x 7"}},
			"update_one": {func(db *gorm.DB) error {
				return db.Model(&product{ID: 2}).Update("price", 7).Error
			}, []string{"updated 2 b 7"}},
			"update_column": {func(db *gorm.DB) error {
				return db.Model(&product{ID: 2}).UpdateColumn("price", 7).Error
			}, []string{"updated 2 b 7"}},
			"update_by_expression": {func(db *gorm.DB) error {
				return db.Model(&product{ID: 2}).Update("price", gorm.Expr("price * 10")).Error
			}, []string{"updated 2 b 20"}},
			"updates_by_struct": {func(db *gorm.DB) error {
				return db.Model(&product{ID: 2}).Updates(product{Name: "x"}).Error
			}, []string{"updated 2 x 2"}},
			"update_many": {func(db *gorm.DB) error {
				return db.Model(&product{}).Where("price > ?", 1).Update("price", 9).Error
			}, []string{"updated 2 b 9", "updated 3 c 9"}},
			"update_with_or": {func(db *gorm.DB) error {
				return db.Model(&product{}).Where("price = ?", 1).Or("name = ?", "c").Update("price", 9).Error
			}, []string{"updated 1 a 9", "updated 3 c 9"}},
			"update_what_it_selects_by": {func(db *gorm.DB) error {
				return db.Model(&product{}).Where("name = ?", "b").Update("name", "x").Error
			}, []string{"updated 2 x 2"}},
			"update_generic": {func(db *gorm.DB) error {
				_, err := gorm.G[product](db).Where("id = ?", 2).Update(context.Background(), "price", 7)
				return err
			}, []string{"updated 2 b 7"}},
			"updates_generic": {func(db *gorm.DB) error {
				_, err := gorm.G[product](db).Where("price < ?", 3).Updates(context.Background(), product{Name: "x"})
				return err
			}, []string{"updated 1 x 1", "updated 2 x 2"}},
			"update_a_slice_of_models": {func(db *gorm.DB) error {
				return db.Model(&[]product{{ID: 1}, {ID: 3}}).Update("price", 9).Error
			}, []string{"updated 1 a 9", "updated 3 c 9"}},
			"update_with_returning": {func(db *gorm.DB) error {
				var list []product
				return db.Model(&list).Clauses(clause.Returning{}).Where("price > ?", 1).Update("price", 9).Error
			}, []string{"updated 2 b 9", "updated 3 c 9"}},
			"update_nothing": {func(db *gorm.DB) error {
				return db.Model(&product{ID: 77}).Update("price", 7).Error
			}, nil},
			"delete_softly": {func(db *gorm.DB) error {
				return db.Delete(&product{ID: 2}).Error
			}, []string{"deleted 2 b 2"}},
			"delete_by_key": {func(db *gorm.DB) error {
				return db.Delete(&product{}, 2).Error
			}, []string{"deleted 2 b 2"}},
			"delete_for_good": {func(db *gorm.DB) error {
				return db.Unscoped().Delete(&product{ID: 2}).Error
			}, []string{"deleted 2 b 2"}},
			"delete_many": {func(db *gorm.DB) error {
				return db.Where("price < ?", 3).Delete(&product{}).Error
			}, []string{"deleted 1 a 1", "deleted 2 b 2"}},
			"delete_a_slice": {func(db *gorm.DB) error {
				return db.Delete(&[]product{{ID: 1}, {ID: 3}}).Error
			}, []string{"deleted 1 a 1", "deleted 3 c 3"}},
			"delete_everything": {func(db *gorm.DB) error {
				return db.Session(&gorm.Session{AllowGlobalUpdate: true}).Delete(&product{}).Error
			}, []string{"deleted 1 a 1", "deleted 2 b 2", "deleted 3 c 3"}},
			"delete_nothing": {func(db *gorm.DB) error { return db.Delete(&product{ID: 77}).Error }, nil},
			"past_model_hooks": {func(db *gorm.DB) error {
				return db.Session(&gorm.Session{SkipHooks: true}).Create(&product{Name: "x"}).Error
			}, []string{"created 4 x 0"}},
			"what_is_not_wanted": {func(db *gorm.DB) error {
				return db.Create(&product{Name: "secret"}).Error
			}, nil},
			"insert_that_conflicts": {func(db *gorm.DB) error {
				return db.Clauses(clause.OnConflict{DoNothing: true}).Create(&product{ID: 2, Name: "x"}).Error
			}, nil},
			"delete_generic": {func(db *gorm.DB) error {
				_, err := gorm.G[product](db).Where("id = ?", 2).Delete(context.Background())
				return err
			}, []string{"deleted 2 b 2"}},
			"what_was_deleted_softly_is_no_row": {func(db *gorm.DB) error {
				return errors.Join(db.Delete(&product{ID: 2}).Error,
					db.Model(&product{}).Where("price > ?", 1).Update("price", 9).Error,
					db.Delete(&product{ID: 2}).Error, db.Unscoped().Delete(&product{ID: 2}).Error)
			}, []string{"deleted 2 b 2", "updated 3 c 9", "deleted 2 b 2"}},
		} {
			t.Run(name, func(t *testing.T) {
				onEachCapturing(t, func(t *testing.T, f *fixture) {
					f.threeProducts()
					if name == "update_with_returning" && f.db.Name() == "mysql" {
						return // it has no such statement
					}
					if err := c.change(f.db); name == "insert_that_conflicts" && f.db.Name() == "mysql" {
						if !errors.Is(err, gormstore.ErrPartialRows) {
							t.Errorf("got %v, want ErrPartialRows, because MySQL does not tell", err)
						}
					} else if err != nil {
						t.Fatal(err)
					}
					f.wantCaptured(c.want...)
				})
			})
		}
	})
	t.Run("works_with_a_key_of_two_columns_and_with_upserts", func(t *testing.T) {
		onEachCapturing(t, func(t *testing.T, f *fixture) {
			lines := []line{{1, 1, "a"}, {1, 2, "b"}, {2, 1, "c"}}
			upsert := f.db.Clauses(clause.OnConflict{UpdateAll: true})
			err := errors.Join(
				f.db.Create(&lines).Error, // creates are not captured here
				upsert.Create(&[]line{{2, 1, "C"}, {2, 2, "d"}}).Error,
				f.db.Save(&[]line{{1, 1, "A"}}).Error,
				f.db.Model(&line{OrderID: 1, Number: 2}).Update("text", "B").Error,
				f.db.Delete(&line{}, "order_id = ?", 2).Error,
			)
			if err != nil {
				t.Fatal(err)
			}
			f.wantCaptured("upserted 2/1 C", "upserted 2/2 d", "upserted 1/1 A", "updated 1/2 B",
				"deleted 2/1 C", "deleted 2/2 d")
		})
	})
	t.Run("says_nothing_of_a_row_that_MySQL_left_as_it_was", func(t *testing.T) {
		onEachCapturing(t, func(t *testing.T, f *fixture) {
			f.threeProducts()
			if err := f.db.Model(&product{}).Where("id > ?", 0).Update("price", 2).Error; err != nil {
				t.Fatal(err)
			}
			if f.db.Name() == "mysql" {
				f.wantCaptured("updated 1 a 2", "updated 3 c 2")
				return
			}
			f.wantCaptured("updated 1 a 2", "updated 2 b 2", "updated 3 c 2") // which others call updated
		})
	})
	t.Run("stores_nothing_of_what_rolls_back", func(t *testing.T) {
		onEachCapturing(t, func(t *testing.T, f *fixture) {
			f.threeProducts()
			f.inTx(nil, func(tx *gorm.DB) error {
				err := tx.Transaction(func(tx *gorm.DB) error {
					return errors.Join(tx.Create(&product{Name: "x"}).Error, tx.Delete(&product{ID: 1}).Error, errUndo)
				})
				if !errors.Is(err, errUndo) {
					return err
				}
				return tx.Model(&product{ID: 1}).Update("price", 7).Error
			})
			f.wantCaptured("updated 1 a 7")
		})
	})
	t.Run("fails_the_statement_when_the_message_cannot_be_made_or_stored", func(t *testing.T) {
		onEachCapturing(t, func(t *testing.T, f *fixture) {
			if err := f.db.Create(&product{Name: "broken"}).Error; !errors.Is(err, errUndo) {
				t.Errorf("got %v, want the function's error", err)
			}
			long := make([]byte, 2000)
			for i := range long {
				long[i] = 'x'
			}
			err := f.db.Create(&product{Name: string(long)}).Error
			if _, ok := errors.AsType[*outbox.FieldError](err); !ok {
				t.Errorf("got %v, want a FieldError of the key", err)
			}
			if n := f.count("products"); n != 0 {
				t.Errorf("%d products are stored", n)
			}
			f.wantCaptured()
		})
	})
	t.Run("refuses_what_does_not_tell_its_rows_and_says_why", func(t *testing.T) {
		for name, change := range map[string]func(db *gorm.DB) error{
			"upsert": func(db *gorm.DB) error {
				return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&product{ID: 1, Name: "x"}).Error
			},
			"save_of_many": func(db *gorm.DB) error {
				return db.Save(&[]product{{ID: 1, Name: "x"}}).Error
			},
			"map": func(db *gorm.DB) error {
				return db.Model(&product{}).Create(map[string]any{"name": "x"}).Error
			},
			"table": func(db *gorm.DB) error {
				return db.Table("products").Create(map[string]any{"name": "x"}).Error
			},
			"update_of_table": func(db *gorm.DB) error {
				return db.Table("products").Where("id = 1").Update("name", "x").Error
			},
			"delete_of_table": func(db *gorm.DB) error {
				return db.Table("products").Where("id = 1").Delete(&line{}).Error
			},
			"limit": func(db *gorm.DB) error {
				return db.Model(&product{}).Where("id > 0").Limit(1).Update("name", "x").Error
			},
			"join": func(db *gorm.DB) error {
				return db.Model(&product{}).Joins("JOIN lines ON true").Where("id > 0").Update("name", "x").Error
			},
			"changed_key": func(db *gorm.DB) error {
				return db.Model(&product{ID: 1}).Update("id", 9).Error
			},
		} {
			t.Run(name, func(t *testing.T) {
				onEachCapturing(t, func(t *testing.T, f *fixture) {
					f.threeProducts()
					err := change(f.db)
					refused, ok := errors.AsType[*gormstore.CaptureError](err)
					if !ok || refused.Table != "products" || refused.Reason == "" {
						t.Errorf("got %v, want a CaptureError", err)
					}
					f.wantCaptured()
					if n := f.names(); cmp.Diff("a b c", n) != "" {
						t.Errorf("products are %s", n)
					}
				})
			})
		}
	})
	t.Run("refuses_a_batch_of_which_some_rows_were_left_out", func(t *testing.T) {
		onEachCapturing(t, func(t *testing.T, f *fixture) {
			f.threeProducts()
			nothing := clause.OnConflict{DoNothing: true}
			err := f.db.Clauses(nothing).Create(&[]product{{ID: 1, Name: "x"}, {ID: 8, Name: "y"}}).Error
			if !errors.Is(err, gormstore.ErrPartialRows) {
				t.Errorf("got %v, want ErrPartialRows", err)
			}
			f.wantCaptured()
		})
	})
	t.Run("leaves_to_GORM_what_has_no_conditions", func(t *testing.T) {
		onEachCapturing(t, func(t *testing.T, f *fixture) {
			if err := f.db.Delete(&product{}).Error; !errors.Is(err, gorm.ErrMissingWhereClause) {
				t.Errorf("got %v, want GORM's refusal", err)
			}
		})
	})
	t.Run("refuses_to_write_where_there_is_no_transaction", func(t *testing.T) {
		for name, open := range withTimes() {
			t.Run(name, func(t *testing.T) {
				f := newCapturing(t, open(t, gorm.Config{SkipDefaultTransaction: true}))
				for _, err := range []error{
					f.db.Create(&product{Name: "x"}).Error, f.db.Delete(&product{ID: 1}).Error,
					f.db.Model(&product{ID: 1}).Update("price", 1).Error,
				} {
					if !errors.Is(err, outbox.ErrNoTransaction) {
						t.Errorf("got %v, want ErrNoTransaction", err)
					}
				}
				if n := f.count("products"); n != 0 {
					t.Errorf("%d products are stored", n)
				}
				f.inTx(nil, func(tx *gorm.DB) error { return tx.Create(&product{Name: "x"}).Error })
				f.wantCaptured("created 1 x 0")
			})
		}
	})
	t.Run("takes_each_table_once", func(t *testing.T) {
		f := newCapturing(t, openSQLite(t, gorm.Config{}))
		err := gormstore.Capture(f.store, gormstore.CaptureConfig[product]{})
		if _, ok := errors.AsType[*gormstore.CaptureError](err); !ok {
			t.Errorf("got %v, want a CaptureError", err)
		}
		if err := gormstore.Capture(f.store, gormstore.CaptureConfig[int]{}); err == nil {
			t.Error("captured what is no model")
		}
	})
}
