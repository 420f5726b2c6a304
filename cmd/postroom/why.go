package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// blocking are the statuses of messages that hold what comes later in their key.
var blocking = []outbox.Status{
	outbox.StatusParked, outbox.StatusRetrying, outbox.StatusSuspect, outbox.StatusInFlight, outbox.StatusPaused,
}

// why says what a stored message waits for, and what to do about it.
func why(ctx context.Context, store *gormstore.Store, r outbox.Record) (string, error) {
	switch r.Status {
	case outbox.StatusParked:
		return "its key waits for somebody to mend what the last error says, and to requeue, skip or discard it", nil
	case outbox.StatusSkipped:
		return "it was set aside and its key goes on: requeue or discard it", nil
	case outbox.StatusScheduled:
		return "it is not due before " + instant(r.AvailableAt), nil
	case outbox.StatusPaused:
		return pausedBy(ctx, store, r)
	case outbox.StatusInFlight:
		return claimedBy(ctx, store, r)
	default: // held, pending, retrying or suspect
		return nextIn(ctx, store, r)
	}
}

func pausedBy(ctx context.Context, store *gormstore.Store, r outbox.Record) (string, error) {
	pauses, err := store.Pauses(ctx)
	if err != nil {
		return "", err
	}
	m := outbox.Message{Topic: r.Topic, Key: r.Key}
	for _, p := range pauses {
		if p.Covers(&m) {
			return fmt.Sprintf("%s is paused by %s since %s: %s", scopeText(p.Scope), p.By, instant(p.At), p.Reason), nil
		}
	}
	return "the pause has just ended", nil
}

// nextIn names the message that holds the key of r, or else the relay that publishes r.
func nextIn(ctx context.Context, store *gormstore.Store, r outbox.Record) (string, error) {
	first, err := blocker(ctx, store, r)
	switch {
	case err != nil:
		return "", err
	case first == nil && r.Status == outbox.StatusHeld:
		return "what held its key is gone: if it stays held, postroom doctor", nil
	case first == nil:
		return claimedBy(ctx, store, r)
	}
	text := fmt.Sprintf("%s is before it in its key and is %s", first.ID, first.Status)
	if first.LastError != "" {
		text += ": " + first.LastError
	}
	return text, nil
}

// blocker returns the first message that is before r in its key and holds it, or nil.
func blocker(ctx context.Context, store *gormstore.Store, r outbox.Record) (first *outbox.Record, err error) {
	if r.Key == "" {
		return nil, nil
	}
	for _, status := range blocking {
		f := outbox.Filter{Key: r.Key, Status: status, WithoutPayload: true}
		found, err := store.Find(ctx, f, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 && found[0].Number < r.Number && (first == nil || found[0].Number < first.Number) {
			first = &found[0]
		}
	}
	return first, nil
}

// claimedBy says who publishes r, now or next.
func claimedBy(ctx context.Context, store *gormstore.Store, r outbox.Record) (string, error) {
	sessions, err := store.Sessions(ctx)
	if err != nil {
		return "", err
	}
	sessions = slices.DeleteFunc(sessions, func(s outbox.Session) bool { return !s.Alive() })
	owner := slices.IndexFunc(sessions, func(s outbox.Session) bool { return slices.Contains(s.Lanes, r.Lane) })
	switch {
	case len(sessions) == 0:
		return "no relay lives: start one, or see in its log why it ended", nil
	case owner < 0:
		return fmt.Sprintf("no relay has taken lane %d yet: postroom owners", r.Lane), nil
	case r.Status == outbox.StatusInFlight:
		return sessions[owner].Relay + " has it in hand; if that lasts, its broker does not answer: postroom doctor", nil
	case r.DueIn > 0:
		return fmt.Sprintf("%s tries it again in %s", sessions[owner].Relay, span(r.DueIn)), nil
	}
	return fmt.Sprintf("%s publishes it next, or says in its log why not", sessions[owner].Relay), nil
}
