package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/postroom/postroom/outbox"
)

// insertBytes bounds one INSERT, of any number of messages; what is longer takes several. Drivers and servers hold a
// statement in memory several times over, and PostgreSQL takes none above 1 GB.
const insertBytes = 16 << 20

// newRow is a message on its way into the table.
type newRow struct {
	*outbox.Message
	lane    int
	headers []byte
}

func (s *Store) enqueue(ctx context.Context, tx *Tx, messages []*outbox.Message) error {
	if err := tx.check(); err != nil {
		return err
	}
	if len(messages) == 0 {
		return nil
	}
	copies, err := outbox.Prepare(ctx, s.config.enqueue(), messages...) // before any SQL
	if err != nil {
		return err
	}
	pool := tx.Statement.ConnPool
	// On the transaction's own connection: there may be no other.
	lanes, err := s.schema.lanes(ctx, s.dialect, pool, s.log)
	if err != nil {
		return err
	}
	rows := newRows(copies, lanes)
	if err := s.insert(ctx, pool, rows); err != nil {
		return fmt.Errorf("enqueue %d messages: %w", len(messages), transactionError(ctx, err))
	}
	if t, ok := hooked(pool); ok {
		t.wrote(s, rows)
	}
	return nil
}

func newRows(messages []*outbox.Message, lanes int) []newRow {
	rows := make([]newRow, len(messages))
	for i, m := range messages {
		rows[i] = newRow{Message: m, lane: outbox.LaneOf(m, lanes), headers: encodeHeaders(m.Headers)}
	}
	return rows
}

// insert locks the keys first, when told to, and then writes rows in their order.
func (s *Store) insert(ctx context.Context, q querier, rows []newRow) error {
	if s.config.StrictKeys {
		if err := s.dialect.lockKeys(ctx, q, rows); err != nil {
			return fmt.Errorf("lock keys: %w", err)
		}
	}
	for len(rows) > 0 {
		n := insertable(rows)
		stored, err := s.dialect.insert(ctx, q, rows[:n])
		if err != nil {
			return err
		}
		if stored != int64(n) {
			return fmt.Errorf("stored %d of %d messages: is there a trigger or a rule on the table?", stored, n)
		}
		rows = rows[n:]
	}
	return nil
}

// insertable is how many of rows, at least one, fit into one statement.
func insertable(rows []newRow) int {
	size := 0
	for i, r := range rows {
		if size += r.size(); size > insertBytes && i > 0 {
			return i
		}
	}
	return len(rows)
}

// size is about what r takes in a statement.
func (r newRow) size() int {
	const numbers = 128
	return numbers + len(r.Topic) + len(r.Key) + len(r.Type) + len(r.ContentType) + len(r.Transport) + len(r.Tenant) +
		len(r.headers) + len(r.Payload)
}

// transactionError gives the errors of database/sql and of a repeated id their meaning.
func transactionError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("%w: %w", outbox.ErrTransactionDone, err)
	case isDuplicate(err):
		e := &outbox.FieldError{Field: "ID", Code: outbox.CodeDuplicateID, Hint: "a message of this id is stored already"}
		return fmt.Errorf("%w: %w", e, err)
	case isBusy(err):
		return fmt.Errorf("open SQLite with _txlock=immediate and a busy timeout: %w", err)
	}
	return err
}

// due is AvailableAt in microseconds since 1970, 0 for at once.
func (r newRow) due() int64 {
	if r.AvailableAt.IsZero() {
		return 0
	}
	return max(0, r.AvailableAt.UnixMicro())
}
