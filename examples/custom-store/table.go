package customstore

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Table is all that the store asks of a database.
type Table interface {
	// Get returns the row as it is now.
	Get(key string) Row
	// CompareAndSwap writes value, or deletes the row for nil, if the row still has that version.
	CompareAndSwap(key string, version int64, value []byte) bool
	// Scan returns up to limit rows whose keys begin with prefix and come after the key from, in order. Rows may change
	// while it reads: it is no snapshot.
	Scan(prefix, from string, limit int) []Row
	// Now is the table's clock, the same one for all relays.
	Now() time.Time
}

// Row is a value under a key. Its version is never used again, and 0 where there is no row.
type Row struct {
	Key     string
	Value   []byte
	Version int64
}

// Memory is a table in memory. It is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	last int64 // version
	keys []string
	rows map[string]Row
}

// NewMemory returns an empty table.
func NewMemory() *Memory { return &Memory{rows: make(map[string]Row)} }

// Get implements [Table].
func (t *Memory) Get(key string) Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[key]
}

// CompareAndSwap implements [Table].
func (t *Memory) CompareAndSwap(key string, version int64, value []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[key].Version != version {
		return false
	}
	at, found := slices.BinarySearch(t.keys, key)
	switch {
	case value == nil:
		delete(t.rows, key)
		if found {
			t.keys = slices.Delete(t.keys, at, at+1)
		}
		return true
	case !found:
		t.keys = slices.Insert(t.keys, at, key)
	}
	t.last++
	t.rows[key] = Row{Key: key, Value: value, Version: t.last}
	return true
}

// Scan implements [Table].
func (t *Memory) Scan(prefix, from string, limit int) []Row {
	var rows []Row
	for len(rows) < limit {
		row, ok := t.after(max(prefix, from))
		if !ok || !strings.HasPrefix(row.Key, prefix) {
			break
		}
		rows = append(rows, row)
		from = row.Key
	}
	return rows
}

func (t *Memory) after(key string) (Row, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, found := slices.BinarySearch(t.keys, key)
	if found {
		at++
	}
	if at == len(t.keys) {
		return Row{}, false
	}
	return t.rows[t.keys[at]], true
}

// Now implements [Table].
func (t *Memory) Now() time.Time { return time.Now() }
