package outbox

import (
	"errors"
	"time"
)

// Class is what an error of a publisher says about the next step. Its text is stored with the message.
type Class string

// The classes, in the words that operators see.
const (
	ClassRefused     Class = "refused"     // anything else: retried with backoff, counted as a failure
	ClassPermanent   Class = "permanent"   // never retried
	ClassUnroutable  Class = "unroutable"  // the broker has nowhere to put it: a failure, retried with backoff
	ClassUnavailable Class = "unavailable" // the transport's fault: retried, no failure
	ClassUnknown     Class = "unknown"     // the broker may hold a copy: retried under the same id, no failure
	ClassRetryAfter  Class = "retry_after" // the publisher named the wait: no failure
)

type classified struct {
	class Class
	after time.Duration
	err   error
}

func (c *classified) Error() string { return c.err.Error() }
func (c *classified) Unwrap() error { return c.err }

// Permanent marks err as a refusal that a retry cannot change, such as a message that is too large. Nil stays nil.
func Permanent(err error) error { return classify(ClassPermanent, 0, err) }

// Unroutable marks err as a message that the broker had nowhere to put. Nil stays nil.
func Unroutable(err error) error { return classify(ClassUnroutable, 0, err) }

// Unavailable marks err as the transport's fault: nothing was handed over, and no failure is counted. A relay that
// hears nothing else holds back everything until the transport is back, so a fault of one topic is [RetryAfter].
// Nil stays nil.
func Unavailable(err error) error { return classify(ClassUnavailable, 0, err) }

// Unknown marks err as a send that may have happened. The message goes out again under the same id, and no
// failure is counted. Nil stays nil.
func Unknown(err error) error { return classify(ClassUnknown, 0, err) }

// RetryAfter marks err as a refusal that is to be retried after d at the soonest. No failure is counted. Nil stays
// nil.
func RetryAfter(d time.Duration, err error) error { return classify(ClassRetryAfter, d, err) }

// ClassOf returns the outermost class of err, and [ClassRefused] for an error that carries none.
func ClassOf(err error) Class {
	if c, ok := errors.AsType[*classified](err); ok {
		return c.class
	}
	return ClassRefused
}

func classify(class Class, after time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &classified{class: class, after: after, err: err}
}

// retryAfter returns the wait that err asks for.
func retryAfter(err error) (time.Duration, bool) {
	c, ok := errors.AsType[*classified](err)
	if !ok || c.class != ClassRetryAfter {
		return 0, false
	}
	return c.after, true
}
