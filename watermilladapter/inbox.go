package watermilladapter

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
)

// ErrProduced is what [Inbox] returns for a handler that returned messages: the router would publish them after the
// commit, and not at all if the process died in between, because the message counts as handled. Enqueue them in the
// handler, through [NewPublisher] or the store, with the context of the message.
var ErrProduced = errors.New(
	"watermilladapter: a handler behind the inbox returned messages: enqueue them in its transaction instead")

// InboxConfig tunes [Inbox]. The zero value works.
type InboxConfig struct {
	// Handler returns the name under which the inbox remembers a message. It is stored: under another name messages that
	// come again are handled again. Defaults to the handler's name in the router.
	Handler func(m *message.Message) string
}

// Inbox returns router middleware that lets each message id be handled once by each handler, in a transaction of
// inbox, which the message's context carries while the handler runs. A message that was handled before is acknowledged
// and nothing else.
//
// What an error or a panic of the handler rolls back can be tried again: put middleware that retries, or sends to a
// poison queue, outside of this one, added before it. The poison queue's message has the same id, so it can be sent
// once more when the reason is mended. Inside, it would turn a handler's failure into a commit of half its work.
func Inbox(inbox outbox.Inbox, config InboxConfig) message.HandlerMiddleware {
	if config.Handler == nil {
		config.Handler = func(m *message.Message) string { return message.HandlerNameFromCtx(m.Context()) }
	}
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			outer := m.Context()
			defer m.SetContext(outer) // also after a panic
			_, err := inbox.Once(outer, config.Handler(m), m.UUID, func(ctx context.Context) error {
				m.SetContext(ctx)
				produced, err := next(m)
				if err == nil && len(produced) > 0 {
					return ErrProduced
				}
				return err
			})
			return nil, err
		}
	}
}
