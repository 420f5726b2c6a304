package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// verb is what an operator does, as the audit table names it.
type verb string

const (
	requeue verb = "requeue" // state 2 and not 0, so that the message holds its key against suspects behind it
	discard verb = "discard"
	skip    verb = "skip"
)

// order is an operator's command.
type order struct {
	outbox.Act
	verb  verb
	ids   []uuid.UUID
	lanes []int // that are locked
}

// acted is what became of an order.
type acted struct {
	changed int
	lanes   []int
	keys    []laneKey // whose blocks may change
}

// Requeue makes parked and skipped messages due at once, see outbox.Inspector.
func (s *Store) Requeue(ctx context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	return s.act(ctx, order{Act: act, verb: requeue, ids: ids})
}

// Discard removes parked and skipped messages, see outbox.Inspector.
func (s *Store) Discard(ctx context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	return s.act(ctx, order{Act: act, verb: discard, ids: ids})
}

// Skip lets the keys of parked messages go on without them, see outbox.Inspector.
func (s *Store) Skip(ctx context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	return s.act(ctx, order{Act: act, verb: skip, ids: ids})
}

func (s *Store) act(ctx context.Context, o order) (int, error) {
	if err := o.Check(); err != nil {
		return 0, err
	}
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil || len(o.ids) == 0 {
		return 0, err
	}
	var did acted
	err := s.dialect.transact(ctx, s.pool, func(q querier) (err error) {
		did, err = s.carryOut(ctx, q, o)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("%s %d messages: %w", o.verb, len(o.ids), err)
	}
	if did.changed > 0 {
		s.spread(ctx, newsOf(did.lanes))
	}
	return did.changed, nil
}

// carryOut locks the lanes first, against claims and against settles that change blocks. The nudge makes every relay
// read the lanes from the start: its cursors have passed what was held.
func (s *Store) carryOut(ctx context.Context, q querier, o order) (did acted, err error) {
	if o.lanes, err = s.dialect.lockLanesOf(ctx, q, o.ids); err != nil {
		return acted{}, fmt.Errorf("lock lanes: %w", err)
	}
	if did, err = s.dialect.act(ctx, q, o); err != nil || did.changed == 0 {
		return did, err
	}
	if err := s.dialect.reblock(ctx, q, did.keys); err != nil {
		return acted{}, fmt.Errorf("block keys: %w", err)
	}
	if err := s.dialect.nudge(ctx, q, did.lanes); err != nil {
		return acted{}, fmt.Errorf("nudge relays: %w", err)
	}
	return did, nil
}

// readActed reads the lane and the key of each message that was changed.
func readActed(rows *sql.Rows, err error) (did acted, _ error) {
	if err != nil {
		return acted{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var lane int
		var key sql.NullString
		if err := rows.Scan(&lane, &key); err != nil {
			return acted{}, errors.Join(err, rows.Err())
		}
		did.add(lane, key)
	}
	return did.once(), rows.Err()
}

// add takes note of a message that was changed.
func (a *acted) add(lane int, key sql.NullString) {
	a.changed++
	a.lanes = append(a.lanes, lane)
	if key.Valid {
		a.keys = append(a.keys, laneKey{lane, key.String})
	}
}

// once has each lane and each key once.
func (a acted) once() acted {
	slices.Sort(a.lanes)
	a.lanes = slices.Compact(a.lanes)
	slices.SortFunc(a.keys, func(x, y laneKey) int {
		return cmp.Or(cmp.Compare(x.lane, y.lane), cmp.Compare(x.key, y.key))
	})
	a.keys = slices.Compact(a.keys)
	return a
}
