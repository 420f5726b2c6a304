package outbox

import (
	"errors"
	"log/slog"
)

// waiting remembers which topics have messages that wait for their destination, such as a topic that is missing, so
// that the log says so once and not with every try.
type waiting map[string]bool

// mostWaiting bounds what is remembered; what comes above it is said again.
const mostWaiting = 1000

// note logs the topics that begin to wait. What waits for a broker that is away is the breaker's to tell of.
func (w waiting) note(log *slog.Logger, outcomes []Outcome) {
	for _, o := range outcomes {
		switch {
		case o.Verdict == Delivered:
			delete(w, o.Topic)
		case w.isNew(o):
			if len(w) >= mostWaiting {
				clear(w)
			}
			w[o.Topic] = true
			log.Warn("outbox: messages of a topic wait and are tried again", "id", o.ID, "topic", o.Topic, "class", o.Class,
				"retry_in", o.RetryIn, "error", o.Err)
		}
	}
}

func (w waiting) isNew(o Outcome) bool {
	waits := o.Class == ClassRetryAfter || errors.Is(o.Err, ErrUnknownTransport)
	return o.Verdict == Defer && waits && !w[o.Topic]
}
