package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
)

// worker claims, publishes and settles, one claim at a time.
type worker struct {
	*tenure
	news       *news // its own copy
	publisher  Publisher
	keyOrdered bool
	breaker    *breaker
	jitter     *rand.Rand
	number     int
	hard       context.Context // ends when a stopping relay has to give up
	turn       time.Duration   // for how long suspects have the worker, before the next batch
	failed     int             // claims in a row that had no answer
	waiting    waiting
	now        CycleEvent // the cycle that runs
}

// cycle makes one claim over the lanes of g and sees it through. It returns how many messages that were, and whether
// there may be more to do than news will tell of. Once ctx has ended nothing new is handed over. An error ends the
// relay, or is ErrSessionEnded.
func (w *worker) cycle(ctx context.Context, g grip) (n int, more bool, err error) {
	limit, leave := w.breaker.enter(ctx, w.config.Batch)
	defer leave()
	if ctx.Err() != nil || len(g.lanes) == 0 {
		return 0, true, nil
	}
	if !w.fresh(g.since) {
		w.reacquire()
		return 0, true, nil
	}
	began, suspect := time.Now(), w.turn > 0
	w.now = CycleEvent{Worker: w.number, Limit: limit, Waited: w.waited(), Calls: w.now.Calls[:0]}
	claim, err := w.claim(ctx, g, limit, suspect)
	if err == nil && w.failed == 0 && len(claim.Messages) == 0 && (suspect || claim.Suspects) {
		suspect = !suspect // there is nothing of the other kind
		claim, err = w.claim(ctx, g, limit, suspect)
	}
	if err != nil {
		return 0, false, err
	}
	defer func() { w.share(claim, suspect, time.Since(began)) }()
	if len(claim.Messages) == 0 {
		if w.failed == 0 { // a claim without an answer was told of already
			w.report(began)
		}
		return 0, mayHaveMore(claim, nil), nil
	}
	outcomes, err := w.publish(ctx, g, claim)
	if err != nil {
		return 0, false, err
	}
	err = w.settle(claim, outcomes)
	w.report(began)
	if err != nil {
		return 0, false, err
	}
	w.observe(ctx, outcomes)
	if isClaimLost(w.now.Err) { // whoever took the claim decides what becomes of its messages
		return len(claim.Messages), true, nil
	}
	w.logOutcomes(outcomes)
	return len(claim.Messages), mayHaveMore(claim, outcomes) || w.untold(g, claim), w.config.stopped(outcomes)
}

// mayHaveMore reports whether there may be more to do than news will tell of: what c left behind, suspects, which wait
// for their turn, and where a message was not delivered, the message itself and what it held back or let pass.
func mayHaveMore(c Claim, outcomes []Outcome) bool {
	undelivered := func(o Outcome) bool { return o.Verdict != Delivered }
	return !c.Dry || c.Suspects || slices.ContainsFunc(outcomes, undelivered)
}

// untold reports whether c holds what no news has told of, so that there may be more of that. News may come a little
// after what it tells of can be claimed.
func (w *worker) untold(g grip, c Claim) bool {
	return g.told != nil && slices.ContainsFunc(c.Messages, func(m *Claimed) bool {
		return !slices.Contains(g.told, m.Lane) && !w.news.names(m.Lane)
	})
}

// share gives suspects, which are claimed one by one, as much of the worker's time as the batch before them took: many
// of them do not hold their keys for long behind a backlog, and one that makes every publish slow takes half.
func (w *worker) share(c Claim, suspect bool, took time.Duration) {
	switch {
	case !c.Suspects:
		w.turn = 0
	case suspect:
		w.turn -= took
	default:
		w.turn = max(took, 1)
	}
}

// report tells the observer of the cycle that began then.
func (w *worker) report(began time.Time) {
	w.now.Took = time.Since(began)
	tell(w.observer, w.observer.Cycle, w.now)
	w.now.Outcomes = nil
}

// fresh reports whether a call of Publish that starts now ends under the lease written at since, as far as anyone can
// know: a store that renews keeps it alive meanwhile, one that does not must leave time for the longest call.
func (w *worker) fresh(since time.Time) bool {
	longest := w.config.Lease
	if _, ok := w.store.(LaneRenewer); !ok {
		longest -= w.config.MaxPublishDuration + w.config.Renew
	}
	return !since.IsZero() && time.Since(since) < longest
}

func (w *worker) claim(ctx context.Context, g grip, limit int, suspect bool) (Claim, error) {
	r := ClaimRequest{
		Token: uuid.New(), Session: w.session, Worker: w.number, Lanes: g.lanes,
		Limit: limit, Bytes: w.config.BatchBytes, PerKey: w.perKey(), Suspect: suspect,
	}
	call, cancel := context.WithTimeout(w.hard, w.config.Lease)
	defer cancel()
	sent := time.Now()
	claim, err := w.store.Claim(call, r)
	w.now.Claiming += time.Since(sent)
	w.gauge.claimed(len(claim.Messages), err)
	if err != nil {
		w.log.Warn("outbox: claim had no answer and is undone", "error", err)
		w.now.Err = err
		w.report(sent)
		w.failed++
		err := w.void(ctx, r)
		sleep(ctx, backoff(w.failed, storeBackoff, maxStoreBackoff, w.jitter), nil)
		return Claim{}, err
	}
	w.failed = 0
	return claim, checkClaim(claim, r)
}

// perKey bounds the messages of one key for a publisher that takes them one by one, where each is a wave of its own: a
// few keep a claim short, and many make up for the claim where one key is all there is.
func (w *worker) perKey() int {
	if w.keyOrdered || w.config.Mode == Pipelined {
		return 0
	}
	return maxWaves
}

const maxWaves = 8

// checkClaim holds the store's answer against what was asked; a store that breaks its contract ends the relay, and
// the claim is recovered.
func checkClaim(c Claim, r ClaimRequest) error {
	bytes := 0
	for i, m := range c.Messages {
		bytes += len(m.Payload)
		if i > 0 && bytes > r.Bytes {
			return fmt.Errorf("outbox: store claimed %d bytes, asked for %d: test it by storetest", bytes, r.Bytes)
		}
	}
	if len(c.Messages) > r.Limit || r.Suspect && len(c.Messages) > 1 {
		return fmt.Errorf("outbox: store claimed %d messages, asked for %d: test it by storetest", len(c.Messages), r.Limit)
	}
	return nil
}

// void undoes a claim whose answer never came, before the worker claims anything else. A session that has ended
// needs none of it: whoever takes its lanes recovers its claims.
func (w *worker) void(ctx context.Context, r ClaimRequest) error {
	err := persist(w.hard, w.jitter, func(hard context.Context) error {
		if errors.Is(context.Cause(ctx), ErrSessionEnded) {
			return ErrSessionEnded
		}
		call, cancel := context.WithTimeout(hard, w.config.Lease)
		defer cancel()
		return w.store.Void(call, r)
	}, isSessionEnded, func(err error) { w.log.Warn("outbox: claim was not undone yet", "error", err) })
	w.reacquire()
	if isSessionEnded(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("undo a claim: %w", err)
	}
	return nil
}

func isSessionEnded(err error) bool { return errors.Is(err, ErrSessionEnded) }

// settle records the outcomes, again and again until there is an answer: nobody but this worker knows them.
func (w *worker) settle(c Claim, outcomes []Outcome) error {
	var changed int
	sent := time.Now()
	err := persist(w.hard, w.jitter, func(hard context.Context) (err error) {
		w.now.Tries++
		call, cancel := context.WithTimeout(hard, w.config.Lease)
		defer cancel()
		changed, err = w.store.Settle(call, c, outcomes)
		return err
	}, isClaimLost, func(err error) {
		w.gauge.update(func(s *Snapshot) { s.StoreDown = true })
		w.log.Warn("outbox: claim was not settled yet", "error", err)
	})
	w.now.Settling, w.now.Outcomes, w.now.Err = time.Since(sent), outcomes, err
	w.gauge.settled(w.now)
	switch {
	case isClaimLost(err) && w.now.Tries > 1:
		w.log.Warn("outbox: claim was settled by an earlier try, or it was lost", "messages", len(c.Messages))
	case isClaimLost(err):
		w.log.Warn("outbox: claim was lost, its messages may arrive twice", "messages", len(c.Messages))
	case err != nil:
		return fmt.Errorf("settle %d messages: %w", len(c.Messages), err)
	case changed < written(outcomes):
		w.log.Info("outbox: messages were changed by an operator meanwhile", "messages", written(outcomes)-changed)
	}
	return nil
}

func isClaimLost(err error) bool { return errors.Is(err, ErrClaimLost) }

func written(outcomes []Outcome) int {
	n := 0
	for _, o := range outcomes {
		if o.Verdict != Release {
			n++
		}
	}
	return n
}

// observe opens or closes the breaker, if the publisher was asked.
func (w *worker) observe(ctx context.Context, outcomes []Outcome) {
	var opened, closed bool
	if len(w.now.Calls) > 0 {
		opened, closed = w.breaker.record(outcomes)
	}
	if opened || closed {
		w.gauge.update(func(s *Snapshot) { s.PublisherDown = opened })
	}
	switch {
	case opened && ctx.Err() == nil:
		w.log.Warn("outbox: publisher is unavailable, probing", "error", outageOf(outcomes))
	case closed:
		w.log.Info("outbox: publisher is back")
	}
	switch {
	case opened:
		tell(w.observer, w.observer.Breaker, BreakerEvent{Down: true, Err: outageOf(outcomes)})
	case closed:
		tell(w.observer, w.observer.Breaker, BreakerEvent{})
	}
	w.waiting.note(w.log, outcomes)
}

// logOutcomes tells an operator what was recorded of messages that failed.
func (w *worker) logOutcomes(outcomes []Outcome) {
	for _, o := range outcomes {
		switch o.Verdict {
		case ParkKey, ParkOne:
			w.logOutcome(slog.LevelError, "outbox: message was parked", o)
		case Retry:
			w.logOutcome(slog.LevelWarn, "outbox: message was refused", o)
		}
	}
}

func (w *worker) logOutcome(level slog.Level, text string, o Outcome) {
	w.log.Log(w.hard, level, text, "id", o.ID, "topic", o.Topic, "type", o.Type, "class", o.Class,
		"failures", o.Failures+1, "retry_in", o.RetryIn, "error", o.Err)
}

// outageOf returns why the broker said nothing, of the first message that has a reason.
func outageOf(outcomes []Outcome) error {
	for _, o := range outcomes {
		if o.Err != nil && noWord(o) {
			return o.Err
		}
	}
	return nil
}
