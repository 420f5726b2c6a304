package gormstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/postroom/postroom/outbox"
)

// state is the state column of a message.
type state int

const (
	ready         state = iota
	scheduled           // waits for its time, and neither holds its key nor is held
	retrying            // waits for its time, and holds its key
	parkedHolding       // waits for an operator, and holds its key
	suspect             // was in a recovered claim: to be claimed alone; holds its key
	parkedPassed        // waits for an operator; its key goes on
)

// blocks reports whether later messages of the key wait for one in state s.
func (s state) blocks() bool { return s == retrying || s == parkedHolding || s == suspect }

// laneStart is where a claim reads in one lane.
type laneStart struct {
	lane  int
	epoch int64
	nudge int64
	start int64
	room  int
}

// claimQuery is a ClaimRequest with the store's knowledge of where to read.
type claimQuery struct {
	outbox.ClaimRequest
	lanes   []laneStart // in reading order; a row's ord is its index here
	open    *horizon
	highest int64 // number returned before this claim was sent
	rescan  bool
}

// storedRow is a row as a claim reads it.
type storedRow struct {
	outbox.Claimed
	handle
	message outbox.Message
	ord     int
	wide    int   // bytes of a payload that was not read with the rest
	broken  error // its headers cannot be read
}

// claimAnswer is what a claim statement returned.
type claimAnswer struct {
	snapshot string
	rewound  *int64        // bound of a listed writer that has ended
	nudges   map[int]int64 // of the lanes that the session still holds
	suspects bool
	cut      bool         // the byte bound left messages out
	refused  bool         // nothing was claimed, because others were quicker
	late     map[int]bool // lanes in which lower numbers may still come
	rows     []*storedRow
	dry      bool // see outbox.Claim
}

// Claim claims a batch, see outbox.Store.
func (s *Store) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return outbox.Claim{}, err
	}
	answer, err := s.claimUnpaused(ctx, s.session(r.Session), r)
	if err != nil {
		return outbox.Claim{}, fmt.Errorf("claim %d messages: %w", r.Limit, err)
	}
	claim := newClaim(r, answer)
	if answer.broken() {
		return s.setAside(ctx, claim, answer)
	}
	return claim, nil
}

// claim makes one claim and moves the cursors by its answer.
func (s *Store) claim(ctx context.Context, ses *session, r outbox.ClaimRequest) (claimAnswer, error) {
	start := time.Now()
	q := ses.plan(r, start, s.dialect.room)
	answer, err := s.dialect.claim(ctx, s.pool, q)
	if err != nil {
		return claimAnswer{}, err
	}
	slices.SortFunc(answer.rows, func(a, b *storedRow) int {
		return cmp.Or(cmp.Compare(a.ord, b.ord), cmp.Compare(a.seq, b.seq))
	})
	if answer.nudged(q) {
		if _, err := s.readPauses(ctx, ses, s.pool); err != nil {
			return claimAnswer{}, fmt.Errorf("read pauses: %w", err)
		}
	}
	read := readings(q, answer)
	answer.dry = len(q.Lanes) == len(r.Lanes) && isDry(q, answer, read)
	ses.apply(q, answer, read, time.Since(start))
	return answer, nil
}

// isDry reports whether lanes that were read hold nothing else to claim, now or once the claim has been delivered.
func isDry(q claimQuery, a claimAnswer, read []reading) bool {
	return !q.Suspect && !a.refused &&
		!slices.ContainsFunc(read, func(r reading) bool { return r.cut }) &&
		!slices.ContainsFunc(a.rows, func(r *storedRow) bool { return r.state.blocks() })
}

// nudged reports whether an operator acted on a lane since it was read last.
func (a claimAnswer) nudged(q claimQuery) bool {
	return slices.ContainsFunc(q.lanes, func(l laneStart) bool {
		nudge, held := a.nudges[l.lane]
		return held && nudge != l.nudge
	})
}

func (a claimAnswer) broken() bool {
	return slices.ContainsFunc(a.rows, func(r *storedRow) bool { return r.broken != nil })
}

// setAside parks the messages of a claim that cannot be read, releases the others, and returns a claim of none; the
// next one gets them. A message that nobody can read would otherwise stop its lane for good.
func (s *Store) setAside(ctx context.Context, c outbox.Claim, a claimAnswer) (outbox.Claim, error) {
	outcomes := make([]outbox.Outcome, len(a.rows))
	for i, r := range a.rows {
		outcomes[i] = outbox.Outcome{Claimed: &r.Claimed}
		if r.broken != nil {
			outcomes[i].Verdict, outcomes[i].Class, outcomes[i].Err = outbox.ParkKey, outbox.ClassPermanent, r.broken
			s.log.ErrorContext(ctx, "outbox message cannot be read and is parked", "id", r.ID, "error", r.broken)
		}
	}
	if _, err := s.Settle(ctx, c, outcomes); err != nil {
		return outbox.Claim{}, fmt.Errorf("park messages that cannot be read: %w", err)
	}
	c.Messages, c.Dry = nil, false
	return c, nil
}

func newClaim(r outbox.ClaimRequest, a claimAnswer) outbox.Claim {
	c := outbox.Claim{Token: r.Token, Session: r.Session, Worker: r.Worker, Suspects: a.suspects, Dry: a.dry}
	slices.SortFunc(a.rows, func(a, b *storedRow) int { return cmp.Compare(a.seq, b.seq) })
	for _, row := range a.rows {
		row.Suspect = row.state == suspect
		row.Handle = &row.handle
		c.Messages = append(c.Messages, &row.Claimed)
	}
	return c
}

// Void undoes a claim whose answer never came, see outbox.Store. Raising the epochs waits for a claim statement that
// is still running, and stops one that has not begun; the claim's row is looked for afterwards, with a new snapshot.
func (s *Store) Void(ctx context.Context, r outbox.ClaimRequest) error {
	lanes := make([]int, len(r.Lanes))
	for i, l := range r.Lanes {
		lanes[i] = l.Lane
	}
	err := s.dialect.transact(ctx, s.pool, func(q querier) error {
		if err := s.dialect.raiseEpochs(ctx, q, r.Session, lanes); err != nil {
			return err
		}
		return s.dialect.dropClaim(ctx, q, r.Token)
	})
	if err != nil {
		return fmt.Errorf("void claim: %w", err)
	}
	return nil
}
