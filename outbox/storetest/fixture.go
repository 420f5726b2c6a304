package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Fixture is one store under test, with the steps that cases are made of. A step that goes wrong ends the case.
type Fixture struct {
	*testing.T
	Store Store
}

// The lease of sessions that live through a case, and of those that are to expire in it.
const (
	long  = time.Minute
	short = time.Second
	limit = 20 * time.Second // for what has to happen
)

var errRollback = errors.New("roll back")

func message(key, payload string) *outbox.Message {
	return &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: key, Payload: []byte(payload)}
}

// put commits messages in one transaction.
func (f *Fixture) put(messages ...*outbox.Message) {
	f.Helper()
	err := f.Store.InTransaction(f.Context(), func(ctx context.Context) error { return f.Store.Enqueue(ctx, messages...) })
	if err != nil {
		f.Fatalf("enqueue: %v", err)
	}
}

// putAll commits one message of key per payload.
func (f *Fixture) putAll(key string, payloads ...string) {
	f.Helper()
	for _, p := range payloads {
		f.put(message(key, p))
	}
}

// session is a relay's session, as the engine would drive it.
type session struct {
	*Fixture
	id    uuid.UUID
	lease time.Duration
	held  []outbox.Lease
}

// join starts a session and acquires.
func (f *Fixture) join(lease time.Duration) *session {
	f.Helper()
	s := &session{Fixture: f, id: uuid.New(), lease: lease}
	s.acquire()
	return s
}

// living returns a session that is to expire in the case, once do has succeeded. A machine that pauses may let the
// lease run out before, and then another session tries; what fails in time is an error.
func (f *Fixture) living(do func(*session) error) *session {
	f.Helper()
	for {
		began := time.Now()
		s := f.join(short)
		err := do(s)
		switch {
		case err == nil:
			return s
		case time.Since(began) < short:
			f.Fatal(err)
		}
	}
}

// claiming claims n messages, and leaves them claimed.
func claiming(n int) func(*session) error {
	return func(s *session) error { return claimed(s.claim(), n) }
}

func claimed(c outbox.Claim, n int) error {
	if got := len(c.Messages); got != n {
		return fmt.Errorf("claimed %d messages, want %d", got, n)
	}
	return nil
}

func (s *session) tryAcquire() error {
	var drained []int
	for _, l := range s.held {
		if l.Draining {
			drained = append(drained, l.Lane)
		}
	}
	lanes, err := s.Store.AcquireLanes(s.Context(), outbox.LaneRequest{
		Session: s.id, Relay: "storetest", Lease: s.lease, Drained: drained,
	})
	if err == nil {
		s.held = lanes.Held
	}
	return err
}

func (s *session) acquire() {
	s.Helper()
	if err := s.tryAcquire(); err != nil {
		s.Fatalf("acquire: %v", err)
	}
}

// lanes returns the lanes that the session may claim.
func (s *session) lanes() []outbox.Lease {
	return slices.DeleteFunc(slices.Clone(s.held), func(l outbox.Lease) bool { return l.Draining })
}

func (s *session) request() outbox.ClaimRequest {
	return outbox.ClaimRequest{Token: uuid.New(), Session: s.id, Lanes: s.lanes(), Limit: 100, Bytes: 1 << 20}
}

// claim claims by the defaults, as change alters them.
func (s *session) claim(change ...func(*outbox.ClaimRequest)) outbox.Claim {
	s.Helper()
	r := s.request()
	for _, c := range change {
		c(&r)
	}
	claim, err := s.Store.Claim(s.Context(), r)
	if err != nil {
		s.Fatalf("claim: %v", err)
	}
	if claim.Token != r.Token || claim.Session != r.Session || claim.Worker != r.Worker {
		s.Fatalf("claim: got %v, %v, %v; want token, session and worker of the request",
			claim.Token, claim.Session, claim.Worker)
	}
	return claim
}

// settle gives every message of the claim the same outcome.
func (s *session) settle(c outbox.Claim, o outbox.Outcome) int {
	s.Helper()
	return s.settleEach(c, func(*outbox.Claimed) outbox.Outcome { return o })
}

func (s *session) settleEach(c outbox.Claim, judge func(*outbox.Claimed) outbox.Outcome) int {
	s.Helper()
	n, err := s.Store.Settle(s.Context(), c, outcomes(c, judge))
	if err != nil {
		s.Fatalf("settle: %v", err)
	}
	return n
}

// wantLost tries to settle a claim whose token must be gone.
func (s *session) wantLost(c outbox.Claim) {
	s.Helper()
	all := outcomes(c, func(*outbox.Claimed) outbox.Outcome { return delivered })
	if _, err := s.Store.Settle(s.Context(), c, all); !errors.Is(err, outbox.ErrClaimLost) {
		s.Errorf("settle of a claim that is gone: got %v, want ErrClaimLost", err)
	}
}

func outcomes(c outbox.Claim, judge func(*outbox.Claimed) outbox.Outcome) []outbox.Outcome {
	var os []outbox.Outcome
	for _, m := range c.Messages {
		o := judge(m)
		o.Claimed = m
		os = append(os, o)
	}
	return os
}

var (
	delivered = outbox.Outcome{Verdict: outbox.Delivered}
	released  = outbox.Outcome{Verdict: outbox.Release}
)

func failed(v outbox.Verdict, in time.Duration) outbox.Outcome {
	return outbox.Outcome{Verdict: v, RetryIn: in, Class: outbox.ClassRefused, Err: errors.New("refused")}
}

func payloads(c outbox.Claim) []string {
	var ps []string
	for _, m := range c.Messages {
		ps = append(ps, string(m.Payload))
	}
	return ps
}

func (f *Fixture) want(what string, got, want any) {
	f.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		f.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// drain claims and delivers until a claim is empty and returns the payloads in the order of the claims.
func (s *session) drain() []string {
	s.Helper()
	var all []string
	for {
		c := s.claim()
		if len(c.Messages) == 0 {
			return all
		}
		all = append(all, payloads(c)...)
		s.settle(c, delivered)
	}
}

// eventually asks again and again until ok says yes.
func (f *Fixture) eventually(what string, ok func() bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Fatalf("%s did not happen within %v", what, limit)
		}
	}
}

// claimSome claims until there is something, as a relay does.
func (s *session) claimSome(change ...func(*outbox.ClaimRequest)) (c outbox.Claim) {
	s.Helper()
	s.eventually("a claim with messages", func() bool {
		c = s.claim(change...)
		return len(c.Messages) > 0
	})
	return c
}
