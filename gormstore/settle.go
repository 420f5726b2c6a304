package gormstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

const maxError = 1024 // bytes of last_error

// change is a message that goes on waiting.
type change struct {
	id        uuid.UUID
	seq       int64
	state     state
	wait      time.Duration
	failed    bool
	uncertain bool
	class     outbox.Class
	err       string
}

// settlement is a claim's outcomes in the form of the tables.
type settlement struct {
	token     uuid.UUID
	delivered []uuid.UUID
	seqs      []int64 // of delivered, in step
	changes   []change
	released  int
	keys      []laneKey // whose blocks may change
	archive   bool      // keep what was delivered
}

// settled counts what a settlement did.
type settled struct {
	claims  int // 0: the token is gone
	changed int
}

// Settle ends a claim, see outbox.Store.
func (s *Store) Settle(ctx context.Context, c outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	plan, err := newSettlement(c, outcomes)
	if err != nil {
		return 0, err
	}
	plan.archive = s.config.Archive > 0
	did, err := s.dialect.settle(ctx, s.pool, plan)
	if err != nil {
		return 0, fmt.Errorf("settle %d messages: %w", len(outcomes), err)
	}
	ses := s.remembered(c.Session)
	if did.claims == 0 { // recovered, or settled by a call whose answer was lost: what became of it is unknown
		ses.lost(outcomes)
		return 0, outbox.ErrClaimLost
	}
	ses.settled(outcomes)
	return did.changed, nil
}

func newSettlement(c outbox.Claim, outcomes []outbox.Outcome) (settlement, error) {
	if err := covers(c, outcomes); err != nil {
		return settlement{}, err
	}
	p := settlement{token: c.Token}
	keys := map[laneKey]bool{}
	for _, o := range outcomes {
		h, ok := o.Handle.(*handle)
		if !ok {
			return settlement{}, errors.New("settle: the message is not one that Claim returned")
		}
		after := p.add(o, h.seq)
		if o.Key != "" && o.Verdict != outbox.Release && (h.state.blocks() || after.blocks()) {
			keys[laneKey{o.Lane, o.Key}] = true
		}
	}
	for k := range keys {
		p.keys = append(p.keys, k)
	}
	return p, nil
}

// covers holds outcomes against the claim: one for each of its messages.
func covers(c outbox.Claim, outcomes []outbox.Outcome) error {
	open := make(map[uuid.UUID]bool, len(c.Messages))
	for _, m := range c.Messages {
		open[m.ID] = true
	}
	for _, o := range outcomes {
		if o.Claimed == nil || o.Message == nil || !open[o.ID] {
			return errors.New("settle: an outcome of a message that is not in the claim, or a second one")
		}
		delete(open, o.ID)
	}
	if len(open) > 0 {
		return fmt.Errorf("settle: %d messages of the claim have no outcome", len(open))
	}
	return nil
}

// add puts one outcome into p, and returns the state that the message gets.
func (p *settlement) add(o outbox.Outcome, seq int64) state {
	c := change{id: o.ID, seq: seq, uncertain: o.Class == outbox.ClassUnknown, class: o.Class, err: errorText(o.Err)}
	switch o.Verdict {
	case outbox.Delivered:
		p.delivered, p.seqs = append(p.delivered, o.ID), append(p.seqs, seq)
		return ready
	case outbox.Defer:
		c.state, c.wait = retrying, o.RetryIn
	case outbox.Retry:
		c.state, c.wait, c.failed = retrying, o.RetryIn, true
	case outbox.ParkKey:
		c.state, c.failed = parkedHolding, true
	case outbox.ParkOne:
		c.state, c.failed = parkedPassed, true
	default:
		p.released++
		return ready
	}
	p.changes = append(p.changes, c)
	return c.state
}

// settled opens the lanes again, below what can be claimed again: released messages, and whatever waited behind a
// message that blocked its key.
func (ses *session) settled(outcomes []outbox.Outcome) {
	for _, o := range outcomes {
		again := int64(math.MaxInt64)
		if h, ok := o.Handle.(*handle); ok && (o.Verdict == outbox.Release || h.state.blocks()) {
			again = h.seq
		}
		ses.close(o.Lane, again)
	}
}

// lost opens the lanes again from zero.
func (ses *session) lost(outcomes []outbox.Outcome) {
	for _, o := range outcomes {
		ses.close(o.Lane, 0)
	}
}

// errorText bounds the text of an error to what the column takes: valid UTF-8 without NUL.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\uFFFD"), "\x00", "")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") // a rune cut in two goes
	}
	return text
}
