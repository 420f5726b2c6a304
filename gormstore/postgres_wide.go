package gormstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// pgWide reads payloads that a claim left out, see pgColumns.
const pgWide = `SELECT id, payload FROM {messages} WHERE id = ANY ($1::uuid[])`

// missing are the rows that have yet to get their payloads.
type missing map[uuid.UUID]*storedRow

func (m missing) take(id uuid.UUID, payload []byte) {
	if r, ok := m[id]; ok {
		r.message.Payload = payload
		delete(m, id)
	}
}

// readWide reads the payloads that rows have without, and reports whether all of them were still there.
func (p *postgres) readWide(ctx context.Context, pool *sql.DB, rows []*storedRow) (whole bool, err error) {
	left, list := missing{}, []uuid.UUID(nil)
	for _, r := range rows {
		if r.wide > 0 {
			left[r.message.ID] = r
			list = append(list, r.message.ID)
		}
	}
	if len(list) == 0 {
		return true, nil
	}
	err = errScan
	if !p.pin.Load() {
		err = p.onWire(ctx, pool, func(conn *pgx.Conn) error {
			return left.readWire(onPlainConn(ctx, conn, p.sql.wide, uuidArray(list)))
		})
	}
	if errors.Is(err, errScan) {
		err = p.once(ctx, pool, func(db querier) error {
			return left.scan(db.QueryContext(ctx, p.sql.wide, uuidArray(list)))
		})
	}
	return len(left) == 0, err
}

func (m missing) readWire(rows pgx.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		w := wireRow{values: rows.RawValues()}
		m.take(w.uuid(), w.bytes())
	}
	return rows.Err()
}

func (m missing) scan(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id uuid.UUID
		var payload []byte
		if err := rows.Scan(&id, &payload); err != nil {
			return err
		}
		m.take(id, payload)
	}
	return rows.Err()
}
