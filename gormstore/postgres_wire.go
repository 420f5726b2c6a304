package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// A claim reads many rows of many columns, and database/sql makes values of its own of each. On plain pgx a claim
// reads the bytes as they come; with another driver, a wrapped one, or pgx's simple protocol, it scans.

// wire remembers whether the pool's connections give their bytes.
type wire struct{ asked, plain atomic.Bool }

// errScan means that the connection's rows have to be scanned. Nothing has been sent.
var errScan = errors.New("not a plain connection of pgx")

// onWire gives do a connection of pgx. A dead one is replaced, as database/sql does.
func (p *postgres) onWire(ctx context.Context, pool *sql.DB, do func(conn *pgx.Conn) error) (err error) {
	for range 3 {
		if err = p.wire.on(ctx, pool, do); !errors.Is(err, driver.ErrBadConn) {
			break
		}
	}
	return err
}

func (w *wire) on(ctx context.Context, pool *sql.DB, do func(conn *pgx.Conn) error) error {
	if w.asked.Load() && !w.plain.Load() {
		return errScan
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(raw any) error {
		c, ok := w.conn(raw)
		if !ok {
			return errScan
		}
		return do(c)
	})
}

// conn returns pgx's connection if it answers in the binary format. The first one speaks for all of the pool.
func (w *wire) conn(raw any) (*pgx.Conn, bool) {
	c, ok := raw.(*stdlib.Conn)
	if !w.asked.Load() {
		if ok {
			mode := c.Conn().Config().DefaultQueryExecMode
			ok = mode != pgx.QueryExecModeSimpleProtocol && mode != pgx.QueryExecModeExec
		}
		w.plain.Store(ok)
		w.asked.Store(true)
	}
	if !ok || !w.plain.Load() {
		return nil, false
	}
	return c.Conn(), true
}

func queryWire(ctx context.Context, conn *pgx.Conn, text string, args []any) (claimAnswer, error) {
	rows, err := onPlainConn(ctx, conn, text, args...)
	if err != nil {
		return claimAnswer{}, err
	}
	defer rows.Close()
	return readWire(rows)
}

func onPlainConn(ctx context.Context, conn *pgx.Conn, text string, args ...any) (pgx.Rows, error) {
	rows, err := conn.Query(ctx, text, append([]any{pgx.QueryResultFormats{pgx.BinaryFormatCode}}, args...)...)
	if err != nil && pgconn.SafeToRetry(err) {
		return nil, driver.ErrBadConn
	}
	return rows, err
}

func readWire(rows pgx.Rows) (claimAnswer, error) {
	if !rows.Next() {
		return claimAnswer{}, errors.Join(errors.New("no answer"), rows.Err())
	}
	a, err := (&wireRow{values: rows.RawValues()}).header()
	if err != nil {
		return claimAnswer{}, err
	}
	var before *storedRow
	for rows.Next() {
		row := wireRow{values: rows.RawValues(), before: before}
		before = row.message()
		a.rows = append(a.rows, before)
	}
	return a, rows.Err()
}

// wireRow reads the columns of one row in turn.
type wireRow struct {
	values [][]byte
	at     int
	before *storedRow
}

// header reads the first row, see pgRead.
func (w *wireRow) header() (claimAnswer, error) {
	if ord := w.next(); ord != nil {
		return claimAnswer{}, errNoHeader
	}
	w.next()
	var a claimAnswer
	if low := w.next(); low != nil {
		bound := bigEndian(low)
		a.rewound = &bound
	}
	a.suspects = w.int() > 0
	w.at += 7
	a.snapshot = string(w.next())
	var err error
	a.nudges, err = parseNudges(string(w.next()))
	return a, err
}

// message reads a claimed message, where NULL is what nearly every message has. A text that is the one of the row
// before is not kept twice.
func (w *wireRow) message() *storedRow {
	r := &storedRow{}
	m := &r.message
	same := m
	if w.before != nil {
		same = &w.before.message
	}
	r.ord, m.ID, r.seq = w.int()-1, w.uuid(), bigEndian(w.next())
	r.Lane, r.state, r.Attempts, r.Failures, r.Crashes = w.int(), state(w.int()), w.int(), w.int(), w.int()
	m.Version, m.AvailableAt, m.CreatedAt = max(w.int(), 1), w.time(), w.time()
	m.Topic, m.Key, m.Type = w.text(same.Topic), w.text(same.Key), w.text(same.Type)
	m.ContentType, m.Transport, m.Tenant = w.text(same.ContentType), w.text(same.Transport), w.text(same.Tenant)
	m.Headers, r.broken = decodeHeaders(w.next())
	r.wide = w.int()
	m.Payload = w.bytes()
	r.Message = m
	return r
}

func (w *wireRow) next() []byte {
	v := w.values[w.at]
	w.at++
	return v
}

func (w *wireRow) int() int { return int(bigEndian(w.next())) }

func (w *wireRow) uuid() (id uuid.UUID) {
	copy(id[:], w.next())
	return id
}

func (w *wireRow) text(same string) string {
	v := w.next()
	if string(v) == same {
		return same
	}
	return string(v)
}

// bytes copies: the connection reads the next row into the same place. NULL stays nil, and empty does not become it.
func (w *wireRow) bytes() []byte {
	v := w.next()
	if v == nil {
		return nil
	}
	return append(make([]byte, 0, len(v)), v...)
}

// time reads microseconds since the year 2000; NULL is the zero time.
func (w *wireRow) time() time.Time {
	const year2000 = 946684800
	v := w.next()
	if v == nil {
		return time.Time{}
	}
	us := bigEndian(v)
	return time.Unix(year2000+us/1e6, us%1e6*1e3).UTC()
}

// bigEndian reads a smallint, integer or bigint.
func bigEndian(v []byte) int64 {
	switch len(v) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(v)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v)))
	case 8:
		return int64(binary.BigEndian.Uint64(v))
	}
	return 0
}
