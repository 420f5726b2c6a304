package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A reader that only moves forward would lose messages whose transactions commit late, and their keys' order, because
// numbers are given before transactions commit. InnoDB tells no statement which transactions its snapshot left out,
// but a dirty read shows what they have written.
//
// Numbers and rows come together: an INSERT … SELECT holds the table's AUTO-INC lock from its first number until its
// last row is in every index (innodb_autoinc_lock_mode 0 or 1; with 2, Enqueue holds a lock of its own for as long).
// So when a claim has seen a committed number, every lower one had its row in the index, or has none: its statement
// failed or was rolled back. A dirty read after the claim's own therefore finds all rows at or below that number that
// may still commit.
//
// The claim's transaction is REPEATABLE READ, and its snapshot is younger than the locks on its lanes. In that snapshot
// it counts the ready rows of each lane from where it began to read up to the last that it returned; a dirty read
// counts the same again afterwards. When both agree, nothing can come late up to there, and the lane's cursor may pass.
// Otherwise the cursor stays, and the next claim reads and counts from there again. Nobody else makes ready rows, or
// takes them away, while the session holds the lane.

// span is a part of a lane's ready messages by number.
type span struct {
	lane     int
	from, to int64
}

// tally is a count of rows, and the sum of their numbers.
type tally struct {
	rows int
	sum  string
}

const (
	myTally = `SELECT lane, count(*), sum(seq) FROM {messages} FORCE INDEX (place)
WHERE state = 0 AND holds IS NULL AND ({spans}) GROUP BY lane`
	mySpan = `lane = %d AND seq BETWEEN %d AND %d`
)

// tallies counts the rows of spans by lane.
func (m *mysql) tallies(ctx context.Context, q querier, spans []span) (map[int]tally, error) {
	parts := make([]string, len(spans))
	for i, s := range spans {
		parts[i] = fmt.Sprintf(mySpan, s.lane, s.from, s.to)
	}
	rows, err := q.QueryContext(ctx, m.text(myTally, "{spans}", strings.Join(parts, " OR ")))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counted := map[int]tally{}
	for rows.Next() {
		var lane int
		var t tally
		if err := rows.Scan(&lane, &t.rows, &t.sum); err != nil {
			return nil, err
		}
		counted[lane] = t
	}
	return counted, rows.Err()
}

// late returns the lanes in which something may still come: of which a dirty read shows other rows than seen. When it
// cannot look, these are all lanes.
func (m *mysql) late(ctx context.Context, pool *sql.DB, spans []span, seen map[int]tally) map[int]bool {
	var dirty map[int]tally
	err := transactAt(ctx, pool, sql.LevelReadUncommitted, func(q querier) (err error) {
		dirty, err = m.tallies(ctx, q, spans)
		return err
	})
	lanes := map[int]bool{}
	for _, s := range spans {
		if err != nil || dirty[s.lane] != seen[s.lane] {
			lanes[s.lane] = true
		}
	}
	return lanes
}
