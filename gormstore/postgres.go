package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

// postgres holds everything that is PostgreSQL's. Its statements are rendered once.
type postgres struct {
	names names
	plans replanner
	pin   atomic.Bool // the database's default isolation is not READ COMMITTED
	wire  wire
	sql   postgresSQL
}

// postgresSQL are the rendered statements, each beside its only caller.
type postgresSQL struct {
	meta, insert, insertOne                  string
	read, readPerKey, readSuspect, put, wide string
	settleDelivered, settle, reblock, share  string
	join, renew, bury, stop, free, fold      string
	table, lock, giveBack, take              string
	raise, drop, prune                       string
	lockOf, nudge                            string
	channel, announce, backlog               string
	keys                                     keySQL
	inbox                                    inboxSQL
	settleKeeping, keepDelivered             string
	purgeArchive, freeze, aside              string
	pause                                    pauseSQL
	wakeAside                                []string
	acts                                     map[verb]string
	oversee                                  overseeSQL
	failures                                 string
}

func newPostgres(n names) *postgres {
	r := n.replacer()
	read := func(pick string) string {
		text := replaceAll(pgRead, "{pick}", pick)
		return r.Replace(replaceAll(replaceAll(text, "{columns}", pgColumns), "{free}", pgFree))
	}
	settle := func(text string, keep bool) string { return r.Replace(pgKeeping(text, keep)) }
	channel := replaceAll(pgChannel, "{literal}", literal(n.table("meta")))
	act := func(change string) string { return r.Replace(replaceAll(pgAct, "{change}", change)) }
	return &postgres{names: n, sql: postgresSQL{
		meta: r.Replace(pgMeta), insert: r.Replace(pgInsert), insertOne: r.Replace(pgInsertOne),
		read: read(pgPick), readPerKey: read(pgPickPerKey), readSuspect: read(pgPickSuspect),
		put: r.Replace(pgPut), wide: r.Replace(pgWide),
		settleDelivered: settle(pgSettleDelivered, false), settle: settle(pgSettle, false),
		keepDelivered: settle(pgSettleDelivered, true), settleKeeping: settle(pgSettle, true),
		purgeArchive: r.Replace(pgPurgeArchive), freeze: r.Replace(pgFreeze),
		aside: r.Replace(replaceAll(pgAside, "{aside}", pgAsideTime)), pause: newPgPauseSQL(r.Replace),
		wakeAside: pgWakes(r.Replace),
		reblock:   r.Replace(pgReblock), share: r.Replace(pgShareLanes),
		join: r.Replace(pgJoin), renew: r.Replace(pgRenew), bury: r.Replace(pgBury), stop: r.Replace(pgStop),
		free: r.Replace(pgFreeLanes), fold: r.Replace(pgFold), table: r.Replace(pgTable), lock: r.Replace(pgLockLanes),
		giveBack: r.Replace(pgGiveBack), take: r.Replace(pgTakeLanes), raise: r.Replace(pgRaiseEpochs),
		drop: r.Replace(pgDropClaim), prune: r.Replace(pgPrune),
		lockOf: r.Replace(pgLockLanesOf), nudge: r.Replace(pgNudge),
		channel: "SELECT " + channel, announce: replaceAll(pgAnnounce, "{channel}", channel),
		backlog: r.Replace(pgBacklogText()),
		keys:    renderKeys(r.Replace, keySQL{pgFindKey, pgTakeKey, pgCompleteKey, pgReleaseKey, pgPurgeKeys}),
		acts:    map[verb]string{requeue: act(pgRequeue), discard: act(pgDiscard), skip: act(pgSkip)},
		oversee: newPgOverseeSQL(r.Replace), failures: r.Replace(pgFailuresText()),
		inbox: inboxSQL{r.Replace(pgClaimHandling), r.Replace(pgPurgeInbox)},
	}}
}

func (*postgres) name() string            { return "postgres" }
func (*postgres) goose() database.Dialect { return database.DialectPostgres }

func (p *postgres) tableExists(suffix string) string {
	return fmt.Sprintf("SELECT to_regclass(%s) IS NOT NULL", literal(p.names.table(suffix)))
}

func (p *postgres) newSchema(ctx context.Context, q querier) (string, error) {
	if p.names.schema == "" {
		return "", nil
	}
	var exists bool
	err := q.QueryRowContext(ctx, "SELECT to_regnamespace($1) IS NOT NULL", p.names.quote(p.names.schema)).Scan(&exists)
	if err != nil || exists {
		return "", err
	}
	return "CREATE SCHEMA IF NOT EXISTS " + p.names.quote(p.names.schema), nil
}

// statements of a migration go to the server together. It gives up rather than wait for a lock: whoever wants the table
// meanwhile would wait behind it.
func (*postgres) statements(text string) []string {
	return []string{"SET LOCAL lock_timeout = '3s'", text}
}

// migrateOptions let one process migrate at a time.
func (p *postgres) migrateOptions() []goose.ProviderOption {
	id := hash64(p.names.table("migrations"))
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(id), lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil // only for an option out of range
	}
	return []goose.ProviderOption{goose.WithSessionLocker(locker)}
}

// pgMeta is run after a look at the catalog: naming a missing table would end the transaction that it runs in.
const pgMeta = `
SELECT version, lanes, current_setting('default_transaction_isolation') <> 'read committed' FROM {meta}`

func (p *postgres) meta(ctx context.Context, q querier) (meta, error) {
	var m meta
	if err := q.QueryRowContext(ctx, p.tableExists("meta")).Scan(&m.found); err != nil || !m.found {
		return m, err
	}
	var pin bool
	err := q.QueryRowContext(ctx, p.sql.meta).Scan(&m.version, &m.lanes, &pin)
	p.pin.Store(pin)
	return m, err
}

// once runs a single statement under READ COMMITTED, without a transaction where that is the default.
func (p *postgres) once(ctx context.Context, pool *sql.DB, fn func(q querier) error) error {
	if p.pin.Load() {
		return p.transact(ctx, pool, fn)
	}
	return fn(pool)
}

// transact pins READ COMMITTED: a later statement must see what others committed while an earlier one waited.
func (*postgres) transact(ctx context.Context, pool *sql.DB, fn func(q querier) error) error {
	tx, err := pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return poolerError(err)
	}
	if err := fn(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, rollback)
		}
		return err
	}
	return tx.Commit()
}

// literal is s as a string in a statement.
func literal(s string) string { return "'" + replaceAll(s, "'", "''") + "'" }

// poolerError gives PgBouncer's refusal of transactions its meaning.
func poolerError(err error) error {
	if err != nil && strings.Contains(err.Error(), "statement pooling mode") {
		return fmt.Errorf("%w: %w", ErrPooler, err)
	}
	return err
}

// hash64 names an advisory lock.
func hash64(parts ...string) int64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return int64(h.Sum64())
}
