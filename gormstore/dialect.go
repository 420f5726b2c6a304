package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"gorm.io/gorm"

	"github.com/postroom/postroom/outbox"
)

// querier is a pool, a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// dialect is everything that differs between databases. Methods that take a querier run inside a transaction of the
// caller, or, with a pool, on their own.
type dialect interface {
	migrator
	capturer
	claimer
	steward
	inspector
	overseer
	pauser
	rememberer
}

// migrator makes and checks the tables.
type migrator interface {
	name() string
	goose() database.Dialect
	newSchema(ctx context.Context, q querier) (string, error) // what makes it; empty if it is there
	tableExists(suffix string) string
	migrateOptions() []goose.ProviderOption
	statements(migration string) []string
	meta(ctx context.Context, q querier) (meta, error)
}

// capturer writes messages inside the application's transaction.
type capturer interface {
	begun(ctx context.Context, q querier, opts []*sql.TxOptions) error
	commit(ctx context.Context, tx gorm.Tx) error
	lockKeys(ctx context.Context, q querier, rows []newRow) error
	insert(ctx context.Context, q querier, rows []newRow) (int64, error)
}

// claimer serves the hot path of relays.
type claimer interface {
	room(q claimQuery) int // how many messages of each lane a claim looks for at first
	claim(ctx context.Context, pool *sql.DB, q claimQuery) (claimAnswer, error)
	settle(ctx context.Context, pool *sql.DB, s settlement) (settled, error)
}

// steward keeps sessions and lanes. Locks are taken in the order lanes, claims, messages.
type steward interface {
	transact(ctx context.Context, pool *sql.DB, fn func(q querier) error) error

	join(ctx context.Context, q querier, r outbox.LaneRequest) (bool, error)                          // new or alive
	renew(ctx context.Context, q querier, session uuid.UUID, lease time.Duration) (bool, error)       // alive only
	bury(ctx context.Context, q querier) ([]uuid.UUID, error)                                         // stamp the expired
	stop(ctx context.Context, q querier, session uuid.UUID) error                                     // stamp one
	freeLanes(ctx context.Context, q querier, sessions []uuid.UUID) error                             // and raise epochs
	fold(ctx context.Context, q querier, sessions []uuid.UUID) ([]laneKey, error)                     // claims → suspects
	reblock(ctx context.Context, q querier, keys []laneKey) error                                     // recompute blocks
	table(ctx context.Context, q querier) (laneTable, error)                                          // who holds what
	lockLanes(ctx context.Context, q querier, session uuid.UUID, lanes []int) error                   // before giving back
	giveBack(ctx context.Context, q querier, session uuid.UUID, lanes []int) ([]int, error)           // unless claimed
	takeLanes(ctx context.Context, q querier, session uuid.UUID, lanes []int) ([]outbox.Lease, error) // if free
	raiseEpochs(ctx context.Context, q querier, session uuid.UUID, lanes []int) error
	dropClaim(ctx context.Context, q querier, token uuid.UUID) error
	prune(ctx context.Context, q querier) error // sessions
	purgeArchive(ctx context.Context, q querier, keep time.Duration, limit int) (int, error)
}

// inspector serves operators.
type inspector interface {
	find(ctx context.Context, pool *sql.DB, f finding) ([]outbox.Record, error)
	backlog(ctx context.Context, pool *sql.DB, perLane int) (outbox.Backlog, error)
	archiveSQL(text string) string
	lockLanesOf(ctx context.Context, q querier, ids []uuid.UUID) ([]int, error)
	act(ctx context.Context, q querier, o order) (acted, error) // in the lanes that are locked
	nudge(ctx context.Context, q querier, lanes []int) error
}

// overseer shows operators what goes on.
type overseer interface {
	overseeSQL() overseeSQL
	failures(ctx context.Context, pool *sql.DB, lanes int) (outbox.Failures, error)
}

// rememberer keeps what must not be done twice.
type rememberer interface {
	keySQL() keySQL
	inboxSQL() inboxSQL
	once(ctx context.Context, pool *sql.DB, fn func(q querier) error) error // one statement, committed by itself
}

// laneKey names an ordering key in its lane.
type laneKey struct {
	lane int
	key  string
}

func newDialect(db *gorm.DB, n names) (dialect, error) {
	switch db.Dialector.Name() {
	case "postgres":
		return newPostgres(n), nil
	case "sqlite":
		if n.schema != "" {
			return nil, &NameError{"Schema", n.schema, "SQLite has no schemas: leave it empty"}
		}
		return newSQLite(n), nil
	case mysqlName:
		return newMySQL(n), nil
	}
	return nil, ErrDialect
}

// isDuplicate reports a violated unique constraint, by the drivers' own codes.
func isDuplicate(err error) bool {
	const uniqueViolation = "23505"
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState() == uniqueViolation
	}
	return isSQLiteDuplicate(err) || mysqlCode(err) == myDuplicate
}

// endsTransaction reports an error with which the database has rolled back the whole transaction, and takes further
// statements all the same. After any error, PostgreSQL takes none.
func endsTransaction(err error, wrote bool) bool {
	return mysqlCode(err) == myDeadlock || wrote && endsSQLiteTransaction(err)
}
