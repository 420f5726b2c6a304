package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// How a claim on MariaDB chooses its messages: by narrow reads, lane after lane, before it reads what is wide.

// pick is a message that is to be claimed, before it is read.
type pick struct {
	ord   int
	seq   int64
	state state
	bytes int
	key   sql.NullString
}

func (*mysql) room(q claimQuery) int { return q.fairRoom() }

// fill gives each lane its room first, and then what is left of the batch to those that have more.
func (c *myClaim) fill(ctx context.Context) error {
	var first []string
	for ord, l := range c.q.lanes {
		if nudge, ok := c.answer.nudges[l.lane]; ok {
			c.asked[ord] = l.room
			first = append(first, c.reads(ord, c.answer.start(l, nudge), 0, l.room)...)
		}
	}
	full, err := c.take(ctx, first)
	for !full && err == nil && c.q.PerKey == 0 {
		if more := c.more(); len(more) > 0 {
			full, err = c.take(ctx, more)
		} else {
			full = true
		}
	}
	return err
}

// more reads on in lanes that gave all they were asked for.
func (c *myClaim) more() (reads []string) {
	var ords []int
	for ord, asked := range c.asked {
		if asked > 0 && c.counts[ord] >= asked {
			ords = append(ords, ord)
		}
	}
	for _, ord := range ords {
		limit := 2*(c.q.Limit-len(c.picks))/len(ords) + 1
		c.asked[ord] += limit
		reads = append(reads, c.reads(ord, c.last[ord]+1, c.last[ord]+1, limit)...)
	}
	return reads
}

// reads are the statements for one lane: what is ready from a number on, and what is due, too.
func (c *myClaim) reads(ord int, ready, due int64, limit int) []string {
	lane := c.q.lanes[ord].lane
	reads := []string{fmt.Sprintf(myReady, ord, lane, ready, limit)}
	if c.due[lane] {
		reads = append(reads, fmt.Sprintf(myDue, ord, lane, due, limit))
	}
	return reads
}

// take picks from reads, lane after lane and by number, and reports whether a bound stopped it.
func (c *myClaim) take(ctx context.Context, reads []string) (full bool, err error) {
	if len(reads) == 0 || c.q.Limit < 1 {
		return false, nil
	}
	found, err := readPicks(c.db.QueryContext(ctx, c.text(strings.Join(reads, "\nUNION ALL\n"))))
	if err != nil {
		return false, err
	}
	slices.SortFunc(found, func(a, b pick) int { return cmp.Or(cmp.Compare(a.ord, b.ord), cmp.Compare(a.seq, b.seq)) })
	looked, keys, limits := make([]int, len(c.q.lanes)), map[string]int{}, c.limits()
	for _, p := range found {
		if looked[p.ord]++; looked[p.ord] > limits[p.ord] {
			continue
		}
		if keys[p.key.String]++; c.q.PerKey > 0 && p.key.Valid && keys[p.key.String] > c.q.PerKey {
			continue
		}
		if !c.add(p) {
			return true, nil
		}
	}
	return false, nil
}

// limits are what the lanes were asked for and have not given.
func (c *myClaim) limits() []int {
	limits := slices.Clone(c.asked)
	for ord, n := range c.counts {
		limits[ord] -= n
	}
	return limits
}

// add reports whether there is room for more. The first message always fits.
func (c *myClaim) add(p pick) bool {
	if c.bytes += p.bytes; c.bytes > c.q.Bytes && len(c.picks) > 0 {
		c.answer.cut = true
		return false
	}
	c.picks = append(c.picks, p)
	c.counts[p.ord]++
	c.last[p.ord] = p.seq
	return len(c.picks) < c.q.Limit
}

func readPicks(rows *sql.Rows, err error) ([]pick, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var picks []pick
	for rows.Next() {
		var p pick
		if err := rows.Scan(&p.ord, &p.seq, &p.state, &p.bytes, &p.key); err != nil {
			return nil, err
		}
		picks = append(picks, p)
	}
	return picks, rows.Err()
}
