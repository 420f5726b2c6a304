package gormstore

import "errors"

var (
	// ErrSchema: the outbox tables are missing, of another version than this package's, or changed, which is a
	// [*SchemaError]. Call [Migrate] first.
	ErrSchema = errors.New("gormstore: outbox tables are missing, of another version, or changed")
	// ErrDryRun: the GORM session is a dry run, which would report success and store nothing.
	ErrDryRun = errors.New("gormstore: a dry run stores no messages")
	// ErrFailedSession: the GORM handle carries an earlier error; nothing was stored. It wraps that error.
	ErrFailedSession = errors.New("gormstore: the GORM handle carries an earlier error")
	// ErrOtherDatabase: the transaction belongs to another database than the store.
	ErrOtherDatabase = errors.New("gormstore: transaction of another database")
	// ErrRollbackOnly: a transaction that was joined failed, so the whole transaction was rolled back. It wraps the
	// first failure.
	ErrRollbackOnly = errors.New("gormstore: rolled back, because a joined transaction failed")
	// ErrTransactionLost: the database has rolled back the whole transaction with a statement that failed, as MariaDB
	// does to end a deadlock, and SQLite when a writing statement's context ends. Run the transaction again. It wraps
	// that statement's error.
	ErrTransactionLost = errors.New("gormstore: the database has rolled back the transaction: run it again")
	// ErrJoinedOptions: options were given to a transaction that joins the one in its context.
	ErrJoinedOptions = errors.New("gormstore: options cannot change the transaction that is joined")
	// ErrOpened: a store of this schema and name is already open on this database handle. Handlers and relays share one.
	ErrOpened = errors.New("gormstore: already open on this database handle: share the store that Open returned first")
	// ErrDialect: the database is neither PostgreSQL nor MariaDB, MySQL or SQLite.
	ErrDialect = errors.New("gormstore: unsupported database: use PostgreSQL, MariaDB, MySQL or SQLite")
	// ErrPooler: a pooler before PostgreSQL gives each statement another connection (PgBouncer's pool_mode=statement),
	// so there are no transactions. Use its transaction or session mode.
	ErrPooler = errors.New("gormstore: the pooler is in statement mode, which has no transactions: use transaction mode")
	// ErrLanes: the number of lanes differs from the one that the first migration recorded. It is fixed for good,
	// because the lane of every stored message was computed with it.
	ErrLanes = errors.New("gormstore: the number of lanes is fixed by the first migration")
	// ErrInsideTransaction: an idempotency key is reserved before the transaction begins: mount
	// middleware.Idempotency outside middleware.Transaction.
	ErrInsideTransaction = errors.New("gormstore: an idempotency key cannot be reserved inside a transaction")
	// ErrRetention: the inbox would forget messages that may come again. Raise Config.InboxRetention or lower
	// Config.ReplayWindow.
	ErrRetention = errors.New("gormstore: the inbox must remember longer than messages may come again")
	// ErrPartialRows: a batch raised events or is captured, and the statement left some of its rows out, or may have.
	// Which ones is not known, so nothing is announced: write the rows one by one, or without ON CONFLICT DO NOTHING,
	// which on MySQL hides what became of a single row too.
	ErrPartialRows = errors.New("gormstore: a statement left out some of its rows, so their events are not known")
	// ErrRaisedTwice: another open transaction has stored the events of this model. Save it after that has ended.
	ErrRaisedTwice = errors.New("gormstore: another open transaction has stored the events of this model")
	// ErrNoHook: the transaction was not begun through the handle that the store was opened on, so its commit
	// cannot be seen.
	ErrNoHook = errors.New("gormstore: this transaction was begun past the commit hook")
)
