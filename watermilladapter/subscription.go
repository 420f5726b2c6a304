package watermilladapter

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
)

// subscription is one reader of a topic.
type subscription struct {
	messages chan *message.Message
	closing  chan struct{}
	once     sync.Once

	mu      sync.RWMutex // held for reading while a message is offered, so that messages closes after that
	isEnded bool
}

func newSubscription() *subscription {
	return &subscription{messages: make(chan *message.Message), closing: make(chan struct{})}
}

// close withdraws what is offered and then ends the messages.
func (sub *subscription) close() {
	sub.once.Do(func() {
		close(sub.closing)
		sub.mu.Lock()
		defer sub.mu.Unlock()
		sub.isEnded = true
		close(sub.messages)
	})
}

// deliver offers a copy of m and waits for the answer, or goes on waiting for that of an earlier call.
func (s *Subscriber) deliver(ctx context.Context, sub *subscription, m *outbox.Message) error {
	handling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	limit := time.NewTimer(s.config.Timeout)
	defer limit.Stop()

	d := delivery{sub, m.ID}
	w, err := s.resume(d)
	if err != nil {
		return err
	}
	if w == nil {
		w = s.message(handling, m)
		if err := sub.offer(ctx, w, limit.C); err != nil {
			return err // nothing has happened yet
		}
	}
	err = s.answer(ctx, sub, w, limit)
	if outbox.ClassOf(err) == outbox.ClassUnknown {
		s.keepOpen(d, w)
	}
	return err
}

// resume returns the message that an earlier call has left with its handler, or nil if there is none.
func (s *Subscriber) resume(d delivery) (*message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.open[d]; ok {
		delete(s.open, d)
		return w, nil
	}
	if len(s.open) >= s.config.Concurrency {
		maps.DeleteFunc(s.open, func(_ delivery, w *message.Message) bool { return isAnswered(w) })
	}
	if len(s.open) >= s.config.Concurrency {
		return nil, outbox.RetryAfter(noSubscriber, errOverrun)
	}
	return nil, nil
}

func isAnswered(w *message.Message) bool {
	select {
	case <-w.Acked():
		return true
	case <-w.Nacked():
		return true
	default:
		return false
	}
}

// keepOpen remembers an unanswered message, unless its subscription has ended: nobody will come back for it.
func (s *Subscriber) keepOpen(d delivery, w *message.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-d.to.closing:
	default:
		s.open[d] = w
	}
}

// offer returns nil once a handler has taken w.
func (sub *subscription) offer(ctx context.Context, w *message.Message, limit <-chan time.Time) error {
	sub.mu.RLock()
	defer sub.mu.RUnlock()
	if sub.isEnded {
		return outbox.RetryAfter(noSubscriber, errNoSubscriber)
	}
	select {
	case sub.messages <- w:
		return nil
	case <-sub.closing:
		return outbox.RetryAfter(noSubscriber, errNoSubscriber)
	case <-limit:
		return outbox.RetryAfter(noSubscriber, errNotTaken)
	case <-ctx.Done():
		return outbox.Unavailable(context.Cause(ctx))
	}
}

// answer waits for the handler: until the time-out, and when the relay or the subscription ends, a little longer.
func (s *Subscriber) answer(ctx context.Context, sub *subscription, w *message.Message, limit *time.Timer) error {
	select {
	case <-w.Acked():
		return nil
	case <-w.Nacked():
		return errNacked
	case <-limit.C:
		return outbox.Unknown(errUnanswered)
	case <-ctx.Done():
	case <-sub.closing:
	}
	limit.Reset(min(patience, s.config.Timeout))
	select {
	case <-w.Acked():
		return nil
	case <-w.Nacked():
		return errNacked
	case <-limit.C:
		return outbox.Unknown(errAbandoned)
	}
}
