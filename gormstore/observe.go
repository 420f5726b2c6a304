package gormstore

import (
	"errors"

	"gorm.io/gorm"
)

// observe makes GORM call the hook around every statement that has a model: before it writes, and after it, inside of
// its transaction. The names after which GORM sorts keep the second call in front of the commit. A third comes after
// whatever has failed.
func (h *hook) observe(db *gorm.DB) error {
	const before, after, commit = "postroom:before", "postroom:after", "gorm:commit_or_rollback_transaction"
	const failed = "postroom:failed"
	create, update, remove := db.Callback().Create(), db.Callback().Update(), db.Callback().Delete()
	return errors.Join(
		create.After("gorm:before_create").Before("gorm:create").Register(before, h.around((*hook).beforeCreate)),
		update.After("gorm:before_update").Before("gorm:update").Register(before, h.around((*hook).beforeUpdate)),
		remove.After("gorm:before_delete").Before("gorm:delete").Register(before, h.around((*hook).beforeDelete)),
		create.After("gorm:after_create").Before(commit).Register(after, h.around((*hook).afterCreate)),
		update.After("gorm:after_update").Before(commit).Register(after, h.around((*hook).afterUpdate)),
		remove.After("gorm:after_delete").Before(commit).Register(after, h.around((*hook).afterDelete)),
		create.After("*").Register(failed, failedWrite), update.After("*").Register(failed, failedWrite),
		remove.After("*").Register(failed, failedWrite), db.Callback().Raw().After("*").Register(failed, failedWrite),
		db.Callback().Query().After("*").Register(failed, failedRead),
		db.Callback().Row().After("*").Register(failed, failedRead),
	)
}

func failedWrite(db *gorm.DB) { lostBy(db.Statement.ConnPool, db.Error, true) }
func failedRead(db *gorm.DB)  { lostBy(db.Statement.ConnPool, db.Error, false) }

// lostBy takes note of a transaction that the database has rolled back with a statement of it.
func lostBy(pool gorm.ConnPool, err error, wrote bool) {
	if err == nil || !endsTransaction(err, wrote) {
		return
	}
	if t, ok := hooked(pool); ok {
		t.lose(err)
	}
}

// around gives a statement the error of call, unless it has failed already or is a dry run.
func (h *hook) around(call func(h *hook, db *gorm.DB) error) func(db *gorm.DB) {
	return func(db *gorm.DB) {
		if db.Error != nil || db.DryRun {
			return
		}
		if err := call(h, db); err != nil {
			_ = db.AddError(err) // which returns it
		}
	}
}

func (h *hook) beforeCreate(db *gorm.DB) error {
	keepConflict(db)
	return errors.Join(h.checkRaised(db), h.checkCaptured(db))
}

func (h *hook) beforeUpdate(db *gorm.DB) error {
	return errors.Join(h.checkRaised(db), h.readCaptured(db, updated))
}

func (h *hook) beforeDelete(db *gorm.DB) error {
	return errors.Join(h.checkRaised(db), h.readCaptured(db, deleted))
}

func (h *hook) afterCreate(db *gorm.DB) error {
	return errors.Join(h.captureCreated(db), h.storeRaised(db))
}

func (h *hook) afterUpdate(db *gorm.DB) error {
	return errors.Join(h.captureUpdated(db), h.storeRaised(db))
}

func (h *hook) afterDelete(db *gorm.DB) error {
	return errors.Join(h.captureDeleted(db), h.storeRaised(db))
}
