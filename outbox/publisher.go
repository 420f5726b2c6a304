package outbox

import (
	"context"
	"errors"
)

// Result is the broker's word on one message. The zero Result means that there was none, because the message
// was never handed over: it is put back and no attempt is spent.
type Result struct {
	accepted bool
	err      error
}

// Accepted is the Result of a message that the broker has durably taken.
var Accepted = Result{accepted: true}

// Failed is the Result of a message that was not accepted. Mark err with [Permanent], [Unroutable], [Unavailable],
// [Unknown] or [RetryAfter] to say what comes next; any other error is retried with backoff. Failed(nil) is a
// failure without a reason.
func Failed(err error) Result {
	if err == nil {
		err = errors.New("outbox: failed without a reason")
	}
	return Result{err: err}
}

// Accepted reports whether the broker has durably taken the message.
func (r Result) Accepted() bool { return r.accepted }

// Err returns why the message was not accepted, or nil if it was, or was never handed over.
func (r Result) Err() error { return r.err }

// Publisher hands messages to a broker. Publish returns one Result per message, in the order given, after waiting
// for every send that it started; a send that it gives up on is [Unknown], never the zero Result. It bounds its own
// waits. When ctx ends it hands over nothing more and soon gives up on what is open. It must not change or keep
// the messages. Several calls may run at once.
type Publisher interface {
	Publish(ctx context.Context, messages []*Message) []Result
}

// KeyOrderer is implemented by a publisher that can promise: in one call, the accepted messages of a topic and key
// are a prefix of those given. The relay then hands it whole claims; other publishers get one message of a key at a
// time.
type KeyOrderer interface {
	KeyOrdered() bool
}

// KeyOrdered reports whether p makes the promise of [KeyOrderer].
func KeyOrdered(p Publisher) bool {
	o, ok := p.(KeyOrderer)
	return ok && o.KeyOrdered()
}
