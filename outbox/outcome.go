package outbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

var errCrashes = errors.New("the process ended each time that this message was published alone")

// judge turns the broker's word on c into what the store is to do with it.
func judge(c *Claimed, r Result, p Policy, jitter *rand.Rand) Outcome {
	o := Outcome{Claimed: c, Err: r.Err()}
	switch {
	case r.Accepted():
		o.Verdict = Delivered
		return o
	case o.Err == nil:
		return o // never handed over: Release
	}
	o.Class = ClassOf(o.Err)
	if p.exhausted(c, o.Class) {
		o.Verdict = p.lastVerdict()
		o.RetryIn = p.MinBackoff // of Stop, which keeps the message for the next start
		return o
	}
	switch o.Class {
	case ClassUnavailable:
		o.Verdict, o.RetryIn = Defer, p.backoff(c.Attempts+1, maxUnavailableBackoff, jitter)
	case ClassUnknown:
		o.Verdict, o.RetryIn = Defer, p.backoff(c.Attempts+1, maxUnknownBackoff, jitter)
	case ClassRetryAfter:
		named, _ := retryAfter(o.Err) // the least; what stays wrong is tried ever more slowly
		o.Verdict, o.RetryIn = Defer, max(named, p.backoff(c.Attempts+1, maxUnknownBackoff, jitter))
	default:
		o.Verdict, o.RetryIn = Retry, p.backoff(c.Failures+1, p.MaxBackoff, jitter)
	}
	return o
}

// exhausted reports whether a hand-over of c that ended with class was the last one.
func (p Policy) exhausted(c *Claimed, class Class) bool {
	switch class {
	case ClassPermanent:
		return true
	case ClassRefused, ClassUnroutable:
		if c.Failures+1 >= p.MaxAttempts {
			return true
		}
	}
	return p.MaxHandovers > 0 && c.Attempts+1 >= p.MaxHandovers
}

func (p Policy) lastVerdict() Verdict {
	switch p.OnExhausted {
	case Skip:
		return ParkOne
	case Stop:
		return Retry
	default:
		return ParkKey
	}
}

// crashed parks a message that has ended the process too often, without publishing it again.
func crashed(c *Claimed) Outcome {
	return Outcome{
		Claimed: c, Verdict: ParkKey, Class: ClassUnknown,
		Err: fmt.Errorf("%d crashes: %w", c.Crashes, errCrashes),
	}
}

// stopped returns the error that ends the relay, if one of outcomes exhausted a message whose policy is Stop.
func (c RelayConfig) stopped(outcomes []Outcome) error {
	for _, o := range outcomes {
		p := c.policy(o.Topic)
		if o.Err != nil && p.OnExhausted == Stop && p.exhausted(o.Claimed, o.Class) {
			return &ExhaustedError{ID: o.ID, Topic: o.Topic, Failures: o.Failures + 1, Err: o.Err}
		}
	}
	return nil
}
