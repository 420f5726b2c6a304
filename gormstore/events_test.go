package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func TestRaise(t *testing.T) {
	t.Run("stores_events_once_and_in_order_and_forgets_them_after_the_commit", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			a := raising("1", "a", "b")
			f.inTx(nil, func(tx *gorm.DB) error {
				if err := tx.Create(a).Error; err != nil {
					return err
				}
				a.Raise(happened{"c"})
				a.Title = "changed"
				err := errors.Join(tx.Save(a).Error, tx.Save(a).Error)
				if n := len(a.Raised()); n != 3 {
					t.Errorf("%d events are left before the commit, want 3", n)
				}
				return err
			})
			if n := len(a.Raised()); n != 0 {
				t.Errorf("%d events are left after the commit", n)
			}
			if err := f.db.Save(a).Error; err != nil {
				t.Fatal(err)
			}
			f.wantHappened("a", "b", "c")
		})
	})
	t.Run("works_with_every_statement_on_a_model", func(t *testing.T) {
		for name, write := range map[string]func(f *fixture, a *article) error{
			"create":   func(f *fixture, a *article) error { a.ID = "new"; return f.db.Create(a).Error },
			"save_new": func(f *fixture, a *article) error { a.ID = "new"; return f.db.Save(a).Error },
			"save":     func(f *fixture, a *article) error { a.Title = "x"; return f.db.Save(a).Error },
			"update": func(f *fixture, a *article) error {
				return f.db.Model(a).Update("title", "x").Error
			},
			"update_columns": func(f *fixture, a *article) error {
				return f.db.Model(a).UpdateColumn("title", "x").Error
			},
			"updates_by_map": func(f *fixture, a *article) error {
				return f.db.Model(a).Updates(map[string]any{"title": "x"}).Error
			},
			"updates_by_struct": func(f *fixture, a *article) error {
				return f.db.Model(a).Updates(article{Title: "x"}).Error
			},
			"changes_that_raise": func(f *fixture, a *article) error {
				changes := &article{Title: "x", Events: a.Events}
				return f.db.Model(&article{ID: a.ID}).Updates(changes).Error
			},
			"delete_softly": func(f *fixture, a *article) error { return f.db.Delete(a).Error },
			"delete":        func(f *fixture, a *article) error { return f.db.Unscoped().Delete(a).Error },
			"generic_create": func(f *fixture, a *article) error {
				a.ID = "new"
				return gorm.G[article](f.db).Create(f.Context(), a)
			},
			"generic_updates": func(f *fixture, a *article) error {
				a.Title = "x"
				_, err := gorm.G[article](f.db).Where("id = ?", a.ID).Updates(f.Context(), *a)
				return err
			},
			"batch": func(f *fixture, a *article) error {
				a.ID = "new"
				return f.db.Create([]*article{{ID: "other"}, a}).Error
			},
			"many_batches": func(f *fixture, a *article) error {
				a.ID = "new"
				return f.db.CreateInBatches([]*article{{ID: "other"}, a, {ID: "third"}}, 1).Error
			},
			"association": func(f *fixture, a *article) error {
				n := note{Events: a.Events}
				return f.db.Create(&article{ID: "parent", Notes: []note{n}}).Error
			},
			"past_model_hooks": func(f *fixture, a *article) error {
				a.ID = "new"
				return f.db.Session(&gorm.Session{SkipHooks: true}).Create(a).Error
			},
			"joined_transaction": func(f *fixture, a *article) error {
				a.Title = "x"
				return f.store.InTransaction(f.Context(), func(ctx context.Context) error {
					return f.store.Transaction(ctx, func(tx *gormstore.Tx) error { return tx.Save(a).Error })
				})
			},
		} {
			t.Run(name, func(t *testing.T) {
				onEachRaising(t, func(t *testing.T, f *fixture) {
					if err := f.db.Create(&article{ID: "1"}).Error; err != nil {
						t.Fatal(err)
					}
					a := raising("1", "a", "b")
					if err := write(f, a); err != nil {
						t.Fatal(err)
					}
					f.wantHappened("a", "b")
					if n := len(a.Raised()); n != 0 {
						t.Errorf("%d events are left", n)
					}
				})
			})
		}
	})
	t.Run("stores_nothing_for_a_statement_that_changes_no_row", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			a := raising("missing", "a")
			f.inTx(nil, func(tx *gorm.DB) error {
				return errors.Join(tx.Model(a).Update("title", "x").Error, tx.Delete(a).Error)
			})
			exists := f.db.Create(&article{ID: "missing"}).Error
			conflicts := f.db.Clauses(clause.OnConflict{DoNothing: true}).Create(a).Error
			if exists != nil || conflicts != nil && f.db.Name() != "mysql" { // which does not tell
				t.Errorf("got %v, %v", exists, conflicts)
			}
			f.wantHappened()
			if n := len(a.Raised()); n != 1 {
				t.Errorf("%d events are left, want the one that waits", n)
			}
		})
	})
	t.Run("keeps_events_for_another_try_after_a_rollback_and_their_ids", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			a := raising("1", "a", "b")
			var first []string
			f.inTx(errUndo, func(tx *gorm.DB) error {
				err := tx.Create(a).Error
				tx.Table("outbox_messages").Order("seq").Pluck("id", &first)
				return errors.Join(err, errUndo)
			})
			f.wantHappened()
			f.inTx(nil, func(tx *gorm.DB) error { return tx.Create(a).Error })
			f.wantHappened("a", "b")
			var second []string
			f.db.Table("outbox_messages").Order("seq").Pluck("id", &second)
			if diff := cmp.Diff(first, second); diff != "" || len(first) != 2 {
				t.Errorf("ids of both tries (-first +second):\n%s", diff)
			}
		})
	})
	t.Run("keeps_events_when_a_savepoint_rolls_back_or_the_commit_is_refused", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			a, b := raising("1", "a"), raising("2", "b")
			f.inTx(nil, func(tx *gorm.DB) error {
				inner := func(end error) error {
					return tx.Transaction(func(tx *gorm.DB) error { return errors.Join(tx.Create(a).Error, end) })
				}
				if err := inner(errUndo); !errors.Is(err, errUndo) {
					t.Errorf("the savepoint: %v", err)
				}
				return tx.Create(b).Error
			})
			f.wantHappened("b")
			if len(a.Raised()) != 1 || len(b.Raised()) != 0 {
				t.Errorf("%d and %d events are left, want 1 and 0", len(a.Raised()), len(b.Raised()))
			}
			if f.db.Name() == "postgres" {
				exec(t, f.db, "CREATE TABLE children (parent text REFERENCES orders DEFERRABLE INITIALLY DEFERRED)")
				err := f.db.Transaction(func(tx *gorm.DB) error {
					return errors.Join(tx.Create(a).Error, tx.Exec("INSERT INTO children VALUES ('nobody')").Error)
				})
				if err == nil || len(a.Raised()) != 1 {
					t.Errorf("refused commit: %v, %d events are left, want 1", err, len(a.Raised()))
				}
			}
			f.inTx(nil, func(tx *gorm.DB) error { return tx.Create(a).Error })
			f.wantHappened("b", "a")
		})
	})
	t.Run("keeps_events_when_a_commit_by_hand_is_refused", func(t *testing.T) {
		f, a := newRaising(t, openPostgres(t, gorm.Config{})), raising("1", "a")
		exec(t, f.db, "CREATE TABLE children (parent text REFERENCES orders DEFERRABLE INITIALLY DEFERRED)")
		tx := f.db.Begin()
		if err := errors.Join(tx.Create(a).Error, tx.Exec("INSERT INTO children VALUES ('nobody')").Error); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit().Error; err == nil || len(a.Raised()) != 1 { // and nobody calls Rollback
			t.Errorf("refused commit: %v, %d events are left, want 1", err, len(a.Raised()))
		}
		f.inTx(nil, func(tx *gorm.DB) error { return tx.Create(a).Error })
		f.wantHappened("a")
	})
	t.Run("stores_what_a_savepoint_gave_back_by_the_next_try_in_the_same_transaction", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			a := raising("1", "a")
			f.inTx(nil, func(tx *gorm.DB) error {
				for _, end := range []error{errUndo, errUndo, nil} {
					err := tx.Transaction(func(tx *gorm.DB) error {
						inner := tx.Transaction(func(tx *gorm.DB) error { return tx.Create(a).Error })
						return errors.Join(inner, end)
					})
					if !errors.Is(err, end) {
						return err
					}
				}
				return tx.Save(a).Error
			})
			f.wantHappened("a")
			if len(a.Raised()) != 0 {
				t.Error("an event is left after the commit")
			}
		})
	})
	t.Run("refuses_an_unregistered_type_before_anything_is_written", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			a := raising("1", "a")
			a.Raise(unknown{})
			f.inTx(nil, func(tx *gorm.DB) error {
				if err := tx.Create(a).Error; !errors.Is(err, outbox.ErrUnregistered) {
					t.Errorf("got %v, want ErrUnregistered", err)
				}
				return tx.Create(&article{ID: "2"}).Error // the transaction is usable
			})
			f.wantHappened()
			if n := f.count("articles"); n != 1 {
				t.Errorf("%d articles, want the second one", n)
			}
		})
	})
	t.Run("refuses_an_event_that_is_nil", func(t *testing.T) {
		f := newRaising(t, openSQLite(t, gorm.Config{}))
		a := raising("1")
		a.Raise((*happened)(nil))
		field, ok := errors.AsType[*outbox.FieldError](f.db.Create(a).Error)
		if !ok || field.Code != outbox.CodeMissing {
			t.Errorf("got %v, want a FieldError", field)
		}
	})
	t.Run("refuses_to_write_where_there_is_no_transaction", func(t *testing.T) {
		for name, open := range databases {
			t.Run(name, func(t *testing.T) {
				f := newRaising(t, open(t, gorm.Config{SkipDefaultTransaction: true}))
				a := raising("1", "a")
				if err := f.db.Create(a).Error; !errors.Is(err, outbox.ErrNoTransaction) {
					t.Errorf("got %v, want ErrNoTransaction", err)
				}
				if n := f.count("articles"); n != 0 || len(a.Raised()) != 1 {
					t.Errorf("%d articles are stored and %d events wait, want 0 and 1", n, len(a.Raised()))
				}
				f.inTx(nil, func(tx *gorm.DB) error { return tx.Create(a).Error })
				f.wantHappened("a")
			})
		}
	})
	t.Run("refuses_a_batch_of_which_some_rows_were_left_out", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			if err := f.db.Create(&article{ID: "1"}).Error; err != nil {
				t.Fatal(err)
			}
			nothing := clause.OnConflict{DoNothing: true}
			err := f.db.Clauses(nothing).Create([]*article{raising("1", "a"), raising("2", "b")}).Error
			if !errors.Is(err, gormstore.ErrPartialRows) {
				t.Errorf("got %v, want ErrPartialRows", err)
			}
			f.wantHappened()
			if n := f.count("articles"); n != 1 {
				t.Errorf("%d articles, want the statement undone", n)
			}
		})
	})
	t.Run("stores_what_a_model_hook_raises", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			a := raising("1", "before")
			a.onSave = func(a *article) { a.Raise(happened{"after"}) }
			if err := f.db.Create(a).Error; err != nil {
				t.Fatal(err)
			}
			f.wantHappened("before", "after")
		})
	})
	t.Run("shares_the_events_of_a_model_with_its_copies", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			a := raising("1", "a")
			copied := *a
			f.inTx(nil, func(tx *gorm.DB) error { return errors.Join(tx.Create(&copied).Error, tx.Save(a).Error) })
			f.wantHappened("a")
			if len(a.Raised()) != 0 {
				t.Error("the copy's commit left an event")
			}
		})
	})
	t.Run("refuses_events_that_another_open_transaction_has_stored", func(t *testing.T) {
		f := newRaising(t, openPostgres(t, gorm.Config{}))
		a := raising("1", "a")
		first := f.db.Begin()
		if err := first.Create(a).Error; err != nil {
			t.Fatal(err)
		}
		if err := f.db.Create(&article{ID: "2", Events: a.Events}).Error; !errors.Is(err, gormstore.ErrRaisedTwice) {
			t.Errorf("got %v, want ErrRaisedTwice", err)
		}
		if err := first.Commit().Error; err != nil {
			t.Fatal(err)
		}
		f.wantHappened("a")
	})
	t.Run("stores_each_event_in_the_outbox_whose_registry_knows_it", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			registry, err := outbox.NewRegistry(outbox.Event[unknown]{Type: "Unknown", Topic: "second"})
			if err != nil {
				t.Fatal(err)
			}
			newFixture(t, f.db, 1, gormstore.Config{Name: "second", Registry: registry})
			a := raising("1", "a")
			a.Raise(unknown{})
			if err := f.db.Create(a).Error; err != nil {
				t.Fatal(err)
			}
			f.wantHappened("a")
			if n := f.count("second_messages"); n != 1 {
				t.Errorf("%d messages in the second outbox, want 1", n)
			}
		})
	})
	t.Run("stores_many_in_one_order", func(t *testing.T) {
		onEachRaising(t, func(t *testing.T, f *fixture) {
			var all []*article
			var want []string
			for i := range 50 {
				all = append(all, raising(fmt.Sprint(i), fmt.Sprint(i, "a"), fmt.Sprint(i, "b")))
				want = append(want, fmt.Sprint(i, "a"), fmt.Sprint(i, "b"))
			}
			if err := f.db.Create(all).Error; err != nil {
				t.Fatal(err)
			}
			f.wantHappened(want...)
		})
	})
}
