package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// liteNow is the database's clock in microseconds since 1970.
const liteNow = `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`

// sqlite holds everything that is SQLite's. It has one writer at a time, so a relay's statements run one after
// another in an immediate transaction, and numbers are given in the order of commits.
type sqlite struct {
	names names
	sql   sqliteSQL
}

// sqliteSQL are the rendered statements, each beside its only caller.
type sqliteSQL struct {
	begun, meta, insert                          string
	held, waiting, read, suspect, suspects, put  string
	dropClaim, deliver, change, low, block, free string
	join, renew, bury, stop, freeLanes           string
	claimed, dropClaims, fold                    string
	table, giveBack, take, raise, prune          string
	keys                                         keySQL
	inbox                                        inboxSQL
	nudge, backlog, keep, purgeArchive           string
	narrow, setAside                             string
	pause                                        pauseSQL
	wakeAside                                    []string
	audits, acts                                 map[verb]string
	oversee                                      overseeSQL
	failures                                     string
}

func newSQLite(n names) *sqlite {
	r := n.replacer()
	render := func(text string) string {
		return r.Replace(replaceAll(text, "{now}", liteNow, "{columns}", liteColumns))
	}
	return &sqlite{names: n, sql: sqliteSQL{
		begun: render(liteBegun), meta: render(liteMeta), insert: render(liteInsert),
		held: render(liteHeld), waiting: render(liteWaiting), read: render(liteRead),
		suspect: render(liteSuspect), suspects: render(liteSuspects),
		put: render(litePut), dropClaim: render(liteDropClaim), deliver: render(liteDeliver), change: render(liteChange),
		low: render(liteLow), block: render(liteBlock), free: render(liteUnblock),
		join: render(liteJoin), renew: render(liteRenew), bury: render(liteBury), stop: render(liteStop),
		freeLanes: render(liteFreeLanes), claimed: render(liteClaimed), dropClaims: render(liteDropClaims),
		fold: render(liteFold), table: render(liteTable), giveBack: render(liteGiveBack), take: render(liteTakeLanes),
		raise: render(liteRaiseEpochs), prune: render(litePrune), nudge: render(liteNudge),
		keys:    renderKeys(render, keySQL{liteFindKey, liteTakeKey, liteCompleteKey, liteReleaseKey, litePurgeKeys}),
		inbox:   inboxSQL{render(liteClaimHandling), render(litePurgeInbox)},
		backlog: render(liteBacklogText()), keep: render(liteKeep), purgeArchive: render(litePurgeArchive),
		oversee: newLiteOverseeSQL(render), failures: render(liteFailuresText()),
		narrow: render(liteNarrow), setAside: render(replaceAll(liteSetAside, "{aside}", liteAsideTime)),
		pause: newLitePauseSQL(render), wakeAside: liteWakes(render),
		audits: map[verb]string{
			requeue: render(liteAudit + liteAside), discard: render(liteAudit + liteAside), skip: render(liteAudit + liteHolds),
		},
		acts: map[verb]string{requeue: render(liteRequeue), discard: render(liteDiscard), skip: render(liteSkip)},
	}}
}

func (*sqlite) name() string                                       { return "sqlite" }
func (*sqlite) goose() database.Dialect                            { return database.DialectSQLite3 }
func (*sqlite) newSchema(context.Context, querier) (string, error) { return "", nil }
func (*sqlite) migrateOptions() []goose.ProviderOption             { return nil }
func (*sqlite) statements(text string) []string                    { return []string{text} }

func (l *sqlite) tableExists(suffix string) string {
	const text = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '%s_%s')"
	return fmt.Sprintf(text, l.names.prefix, suffix)
}

const liteMeta = `SELECT version, lanes FROM {meta}`

func (l *sqlite) meta(ctx context.Context, q querier) (meta, error) {
	var m meta
	if err := q.QueryRowContext(ctx, l.tableExists("meta")).Scan(&m.found); err != nil || !m.found {
		return m, err
	}
	if err := q.QueryRowContext(ctx, l.sql.meta).Scan(&m.version, &m.lanes); err != nil {
		return m, err
	}
	var timeout int
	if err := q.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&timeout); err != nil {
		return m, err
	}
	if timeout == 0 {
		m.warning = "SQLite is open without a busy timeout, so writers fail where they could wait: " +
			"add _pragma=busy_timeout(10000) and _txlock=immediate to its name"
	}
	return m, nil
}

// transact holds the write lock from the start: a transaction that reads first could not get it later. Whether ctx has
// ended is asked here, because drivers may leave out a statement whose ctx ends as it begins, and call that a success.
func (l *sqlite) transact(ctx context.Context, pool *sql.DB, fn func(q querier) error) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := beginImmediate(ctx, conn); err != nil {
		return err
	}
	if err = ctx.Err(); err == nil {
		err = fn(conn)
	}
	if err = cmp.Or(err, ctx.Err()); err == nil {
		_, err = conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	}
	if err != nil {
		rollback(ctx, conn)
	}
	return err
}

// rollback ends the transaction even when ctx has ended, or else the connection. SQLite may have rolled back already,
// and a database in memory lives in its connection.
func rollback(ctx context.Context, conn *sql.Conn) {
	_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool throws it away
	}
}

// beginImmediate tries again while another writer is there, for as long as ctx allows.
func beginImmediate(ctx context.Context, conn *sql.Conn) error {
	const pause = 5 * time.Millisecond
	for {
		_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		if !isBusy(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		case <-timer.C:
		}
	}
}

// SQLite's result codes; extended ones have the primary code in their low byte.
const (
	liteBusy             = 5
	liteNoMemory         = 7
	liteInterrupted      = 9
	liteIO               = 10
	liteFull             = 13
	liteConstraintKey    = 1555
	liteConstraintUnique = 2067
)

// coder is an error of the pure-Go drivers.
type coder interface {
	error
	Code() int
}

func isBusy(err error) bool {
	e, ok := errors.AsType[coder](err)
	return ok && e.Code()&0xff == liteBusy
}

// endsSQLiteTransaction is for what writes.
func endsSQLiteTransaction(err error) bool {
	e, ok := errors.AsType[coder](err)
	return ok && slices.Contains([]int{liteNoMemory, liteInterrupted, liteIO, liteFull}, e.Code()&0xff)
}

func isSQLiteDuplicate(err error) bool {
	e, ok := errors.AsType[coder](err)
	return ok && (e.Code() == liteConstraintUnique || e.Code() == liteConstraintKey)
}

// jsonArray is a list as json_each reads it.
func jsonArray[T any](values []T) string {
	if len(values) == 0 {
		return "[]"
	}
	b, err := json.Marshal(values)
	if err != nil {
		return "[]" // numbers and uuids always marshal
	}
	return string(b)
}

func ids(messages []*storedRow) []uuid.UUID {
	list := make([]uuid.UUID, len(messages))
	for i, m := range messages {
		list[i] = m.ID
	}
	return list
}
