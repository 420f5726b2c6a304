package customstore

import (
	"iter"
	"math"

	"github.com/postroom/postroom/outbox"
)

// Store is an outbox on a table.
type Store struct {
	table Table
	lanes int
}

var (
	_ outbox.Enqueuer     = (*Store)(nil)
	_ outbox.Transactor   = (*Store)(nil)
	_ outbox.Store        = (*Store)(nil)
	_ outbox.LaneRenewer  = (*Store)(nil)
	_ outbox.LaneReleaser = (*Store)(nil)
)

// New returns a store on table. All stores on one table must be given the same number of lanes.
func New(table Table, lanes int) *Store { return &Store{table: table, lanes: lanes} }

// How many rows a scan returns: a page of messages, or everything there is.
const (
	page = 256
	all  = math.MaxInt
)

// messages yields the committed messages of a lane whose keys come before end, oldest first.
func (s *Store) messages(n int, end string) iter.Seq[message] {
	return func(yield func(message) bool) {
		from := ""
		for {
			rows := s.table.Scan(lanePrefix(n), from, page)
			for _, row := range rows {
				if row.Key >= end {
					return
				}
				m := decode[message](row)
				if s.table.Get(m.Tx).Version != 0 && !yield(m) {
					return
				}
			}
			if len(rows) < page {
				return
			}
			from = rows[len(rows)-1].Key
		}
	}
}
