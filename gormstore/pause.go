package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

// A pause costs a claim nothing while there is none: it raises the nudges of the lanes that it is about, and a claim
// that sees a new nudge reads the pauses. Messages of a claim that turn out to be paused are set aside (aside.go).

const resumeBatch = 1000

// States of messages that are set aside, each with an index of its own.
const (
	waitingStates = "IN (1, 2)"
	suspectState  = "= 4"
)

// pauser keeps pauses. Times are in the form of the dialect.
type pauser interface {
	pauseSQL() pauseSQL
	freeze(ctx context.Context, q querier, lanes []int) error // no claim runs, and none is set aside from, until the end
	share(ctx context.Context, q querier, lanes []int) error  // against freeze
	aside(ctx context.Context, q querier, a asideOrder) (bool, error)
	// wakeAside makes up to limit messages of scope, that were set aside, due, and returns how many.
	wakeAside(ctx context.Context, q querier, scope outbox.Scope, limit int) (int, error)
}

// pauseSQL are statements of the dialect, with the arguments in this order.
type pauseSQL struct {
	put    string // topic, key, lane, by, reason: begin a pause, or begin it anew
	end    string // topic, key: mark it as ending
	active string // → topic, key, by, reason, µs since 1970: that are not ending
	ending string // → topic, key
	forget string // topic, key: remove what is ending
	left   string // topic twice, key twice → whether messages of the scope are set aside
	audit  string // by, reason, act, nil id, topic, key
}

// Pause holds messages back, see outbox.Pauser. Relays stop claiming them with their next claim; the first claims
// afterwards set aside what they come across of it, a thousand messages and more in a second, so that it is out of
// the way of others.
func (s *Store) Pause(ctx context.Context, act outbox.Act, scope outbox.Scope) error {
	err := s.steer(ctx, act, scope, "pause", func(q querier, lanes []int) error {
		var lane any
		if scope.Key != "" {
			lane = lanes[0]
		}
		_, err := q.ExecContext(ctx, s.dialect.pauseSQL().put, scope.Topic, scope.Key, lane, act.By, act.Reason)
		return err
	})
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return nil
}

// Resume ends a pause, see outbox.Pauser.
func (s *Store) Resume(ctx context.Context, act outbox.Act, scope outbox.Scope) error {
	err := s.steer(ctx, act, scope, "resume", func(q querier, _ []int) error {
		_, err := q.ExecContext(ctx, s.dialect.pauseSQL().end, scope.Topic, scope.Key)
		return err
	})
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := s.finishPauses(ctx); err != nil {
		return fmt.Errorf("resume: make messages due again: %w", err)
	}
	s.spread(ctx, newsOfAny)
	return nil
}

// Pauses lists pauses, see outbox.Pauser.
func (s *Store) Pauses(ctx context.Context) ([]outbox.Pause, error) {
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return nil, err
	}
	pauses, err := s.activePauses(ctx, s.pool)
	if err != nil {
		return nil, fmt.Errorf("list pauses: %w", err)
	}
	return pauses, nil
}

// steer changes the pauses with all their lanes locked, so that a claim or a setting aside is wholly before or wholly
// after; the nudge tells relays.
func (s *Store) steer(
	ctx context.Context, act outbox.Act, scope outbox.Scope, verb string, do func(q querier, lanes []int) error,
) error {
	if err := cmp.Or(act.Check(), scope.Check()); err != nil {
		return err
	}
	count, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log)
	if err != nil {
		return err
	}
	lanes := scopeLanes(scope, count)
	return s.dialect.transact(ctx, s.pool, func(q querier) error {
		if err := s.dialect.freeze(ctx, q, lanes); err != nil {
			return fmt.Errorf("lock lanes: %w", err)
		}
		if err := do(q, lanes); err != nil {
			return err
		}
		if err := s.record(ctx, q, act, verb, scope); err != nil {
			return err
		}
		return s.dialect.nudge(ctx, q, lanes)
	})
}

// scopeLanes are the lanes whose messages a scope may cover.
func scopeLanes(scope outbox.Scope, count int) []int {
	if scope.Key != "" {
		return []int{outbox.LaneOf(&outbox.Message{Key: scope.Key}, count)}
	}
	lanes := make([]int, count)
	for i := range lanes {
		lanes[i] = i
	}
	return lanes
}

// finishPauses makes due again what pauses that are ending had set aside, in small transactions, and forgets them.
// What another pause covers is set aside again by the next claim. A process that ends half-way, or that steps over
// what another is making due, leaves the rest to Prune.
func (s *Store) finishPauses(ctx context.Context) error {
	scopes, err := readScopes(s.pool.QueryContext(ctx, s.dialect.pauseSQL().ending))
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		if err := s.wakeAside(ctx, scope); err != nil {
			return err
		}
		if err := s.forgetPause(ctx, scope); err != nil && !errors.Is(err, errStillAside) {
			return err
		}
	}
	return nil
}

// errStillAside keeps a pause: somebody else, who may not get to the end, is making the last of it due.
var errStillAside = errors.New("messages are set aside")

// forgetPause looks once the pause's row is locked, so that the pause cannot begin anew meanwhile.
func (s *Store) forgetPause(ctx context.Context, scope outbox.Scope) error {
	return s.dialect.transact(ctx, s.pool, func(q querier) error {
		texts := s.dialect.pauseSQL()
		if _, err := q.ExecContext(ctx, texts.forget, scope.Topic, scope.Key); err != nil {
			return err
		}
		var left bool
		row := q.QueryRowContext(ctx, texts.left, scope.Topic, scope.Topic, scope.Key, scope.Key)
		if err := row.Scan(&left); err != nil || !left {
			return err
		}
		return errStillAside
	})
}

func (s *Store) wakeAside(ctx context.Context, scope outbox.Scope) error {
	for {
		n, err := s.changeRows(ctx, func(q querier) (int, error) {
			return s.dialect.wakeAside(ctx, q, scope, resumeBatch)
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

// changeRows is a transaction that changes some rows, and returns how many.
func (s *Store) changeRows(ctx context.Context, change func(q querier) (int, error)) (n int, err error) {
	err = s.dialect.transact(ctx, s.pool, func(q querier) error {
		n, err = change(q)
		return err
	})
	return n, err
}

// runAll runs statements of the same arguments, and returns how many rows they changed together.
func runAll(ctx context.Context, q querier, texts []string, args ...any) (all int, err error) {
	for _, text := range texts {
		n, err := count(q.ExecContext(ctx, text, args...))
		if err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}

func (s *Store) activePauses(ctx context.Context, q querier) ([]outbox.Pause, error) {
	rows, err := q.QueryContext(ctx, s.dialect.pauseSQL().active)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var pauses []outbox.Pause
	for rows.Next() {
		var p outbox.Pause
		var at int64
		if err := rows.Scan(&p.Topic, &p.Key, &p.By, &p.Reason, &at); err != nil {
			return nil, err
		}
		p.At = time.UnixMicro(at).UTC()
		pauses = append(pauses, p)
	}
	return pauses, rows.Err()
}

func readScopes(rows *sql.Rows, err error) ([]outbox.Scope, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var scopes []outbox.Scope
	for rows.Next() {
		var s outbox.Scope
		if err := rows.Scan(&s.Topic, &s.Key); err != nil {
			return nil, err
		}
		scopes = append(scopes, s)
	}
	return scopes, rows.Err()
}
