package gormstore

import (
	"context"
	"database/sql"
	"strings"
)

// journal is what a transaction has stored of raised events, with the savepoints in between, so that a savepoint that
// rolls back gives its events back.
type journal struct{ entries []journalEntry }

// journalEntry is a savepoint, or events that were stored.
type journalEntry struct {
	savepoint string
	owner     *raisedEvents
	events    []*raisedEvent
}

func (j *journal) stored(t *hookTx, owner *raisedEvents, events []*raisedEvent) {
	owner.storedBy(t, events)
	j.entries = append(j.entries, journalEntry{owner: owner, events: events})
}

// savepointed follows statements that set a savepoint or go back to one, in the words of every dialect of GORM.
func (j *journal) savepointed(statement string) {
	if name, ok := strings.CutPrefix(statement, "SAVEPOINT "); ok {
		j.entries = append(j.entries, journalEntry{savepoint: name})
		return
	}
	name, ok := strings.CutPrefix(statement, "ROLLBACK TO SAVEPOINT ")
	if !ok {
		return
	}
	for i := len(j.entries) - 1; i >= 0; i-- {
		if j.entries[i].savepoint == name {
			j.undo(i + 1)
			return
		}
	}
}

// undo lets what was stored from entry i on wait again.
func (j *journal) undo(i int) {
	for _, e := range j.entries[i:] {
		if e.owner != nil {
			e.owner.storedBy(nil, e.events)
		}
	}
	j.entries = j.entries[:i]
}

// commit forgets all that was stored.
func (j *journal) commit() {
	for _, e := range j.entries {
		if e.owner != nil {
			e.owner.committed(e.events)
		}
	}
	j.entries = nil
}

// ExecContext is what GORM's savepoints come through, prepared statements or not.
func (t *hookTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := t.Tx.ExecContext(ctx, query, args...)
	lostBy(t, err, true)
	if err == nil && len(args) == 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.journal.savepointed(query)
	}
	return result, err
}

func (t *hookTx) rolledBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.journal.undo(0)
}
