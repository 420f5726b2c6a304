package gormstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// BacklogSQL is the statement of Backlog, for tests that look at its plan.
func (s *Store) BacklogSQL() string { return s.dialect.(*postgres).sql.backlog }

// FindSQL is the statement of the first page of Find, with its arguments.
func (s *Store) FindSQL(f outbox.Filter, limit int) (string, []any) {
	return s.dialect.(*postgres).findText(f), finding{Filter: f, limit: limit, lane: -1}.args()
}

// FailuresSQL is the statement of Failures.
func (s *Store) FailuresSQL() string { return s.dialect.(*postgres).sql.failures }

// InsertSQL is the statement that stores m alone, with its arguments.
func (s *Store) InsertSQL(m *outbox.Message) (string, []any) {
	return s.dialect.(*postgres).sql.insertOne, pgRow(newRow{Message: m})
}

// AuditSQL are the statements of Audit: of all messages, and of one.
func (s *Store) AuditSQL() (all, of string) {
	return s.dialect.overseeSQL().audit, s.dialect.overseeSQL().auditOf
}

// PurgeSQL is the statement of PurgeArchive.
func (s *Store) PurgeSQL() string { return s.dialect.(*postgres).sql.purgeArchive }

// Catalog describes the tables in the form that wantCatalog reads, in an order of its own.
func (s *Store) Catalog(ctx context.Context) (string, error) {
	lines, err := s.dialect.(*postgres).catalog(ctx, s.pool)
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.object() + ": " + l.form + "\n"
	}
	slices.Sort(texts)
	return strings.Join(texts, ""), err
}

// Cursor is where a session goes on reading in a lane.
func (s *Store) Cursor(id uuid.UUID, lane int) int64 {
	ses := s.session(id)
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.lanes[lane].cursor
}

// GuardInserts makes the store believe that the server gives numbers out of order.
func (s *Store) GuardInserts() { s.dialect.(*mysql).guard.Store(true) }

// Remembered is how many sessions are.
func (s *Store) Remembered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Transact runs statements in a transaction of the store's own.
func (s *Store) Transact(ctx context.Context, fn func(exec func(text string) error) error) error {
	return s.dialect.transact(ctx, s.pool, func(q querier) error {
		return fn(func(text string) error {
			_, err := q.ExecContext(ctx, text)
			return err
		})
	})
}

// LaneStates are what the store remembers of its sessions' lanes, a line for each.
func (s *Store) LaneStates() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for id, ses := range s.sessions {
		ses.mu.Lock()
		for lane, l := range ses.lanes {
			base := int64(-1)
			if l.horizon != nil {
				base = l.horizon.base
			}
			lines = append(lines, fmt.Sprintf("session=%x lane=%d epoch=%d nudge=%d cursor=%d base=%d turn=%d open=%v",
				id[:], lane, l.epoch, l.nudge, l.cursor, base, l.turn, l.open))
		}
		ses.mu.Unlock()
	}
	slices.Sort(lines)
	return lines
}
