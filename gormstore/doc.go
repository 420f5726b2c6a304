// Package gormstore keeps the outbox in the application's own database, beside its business tables, through GORM.
//
// A message is stored by the transaction that changes the business rows, so it is published if, and only if, that
// transaction commits:
//
//	store, err := gormstore.Open(db, gormstore.Config{})
//	...
//	err = store.Transaction(ctx, func(tx *gormstore.Tx) error {
//		if err := tx.Create(&order).Error; err != nil {
//			return err
//		}
//		return tx.Enqueue(ctx, orderPlaced(order))
//	})
//
// The same [Store] is the outbox.Store of a relay. PostgreSQL 13 and later, through pgx or lib/pq, MariaDB 10.6 and
// later, and SQLite 3.42 and later are supported; MySQL 8.0.19 and later should work. [Migrate] makes the tables.
//
// Models that embed [Events] raise events that are stored with them, [Capture] makes messages of the changes of plain
// models. The store also remembers what must not be done twice: requests, for middleware.Idempotency, and the messages
// of others, by [Store.Once], which is an outbox.Inbox. What is old of both is deleted in small parts as new comes.
//
// # What it promises
//
// Every path outside a transaction returns outbox.ErrNoTransaction; nothing is ever written beside one. Messages are
// rows written at once, so a savepoint that rolls back takes its messages along. Messages of one key are given to
// relays in the order in which they were enqueued, provided that their writers hold a common lock before they
// enqueue: the lock of a business row, or that of [Config.StrictKeys].
//
// # What it does not promise
//
// It keeps no order between keys, nor for writers that enqueue before they lock. It says nothing about the broker:
// that is the relay's part.
//
// Events that models raise follow savepoints by what GORM's SavePoint, RollbackTo and nested transactions send; a
// ROLLBACK TO of another form is not seen. A capture reads by the conditions of a statement, so what Exec, Raw,
// cascades and triggers change is not captured.
//
// # MariaDB and MySQL
//
// Tested with MariaDB 10.11 through GORM's own driver. MySQL 8 takes the same statements by its documentation, and was
// not tried. Every table is InnoDB's. A message and its row must fit into max_allowed_packet (16 MiB by default, so
// payloads above 15 MiB need more, and with interpolateParams those above 7 MiB). All writers and relays have to use
// the same server: between the nodes of Galera or of several primaries, numbers say nothing about order.
// binlog_format must be MIXED or ROW, because relays use READ COMMITTED. There is no LISTEN, so relays of other
// processes find new messages by polling.
//
// Enqueue waits for the statements of other Enqueues, which are short, and never for their transactions; where
// innodb_autoinc_lock_mode is 2, which is MySQL's default, it takes a named lock for that, and two more round trips.
// That is looked up once, so a server that takes over must have the same setting.
// MySQL counts a row as changed only if a value differs, and so do events and captures. Leave clientFoundRows off, with
// which it counts others too.
//
// InnoDB ends a deadlock by an error: within the application's transactions that goes to the application, as always,
// and one that goes on all the same ends with [ErrTransactionLost]; the store's own ones are run again.
//
// # SQLite
//
// SQLite has one writer at a time. Open it with a busy timeout, in WAL mode and with immediate transactions, e.g.
// "app.db?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"; otherwise a transaction that
// reads before it writes can fail as busy. An in-memory database lives in one connection, so it needs
// SetMaxOpenConns(1).
package gormstore
