package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// EnqueueConfig is what an Enqueuer is told about the messages that it accepts.
type EnqueueConfig struct {
	// MaxPayload bounds Payload in bytes, up to [MaxPayloadCeiling]. Defaults to 8 MiB.
	MaxPayload int
	// Headers returns headers to add to m from its context, such as the trace context; a message that already has a name
	// keeps its own. It is asked once for each message, which is valid, may have no id yet, and must not be changed.
	// Defaults to none.
	Headers func(ctx context.Context, m *Message) []Header
}

// Prepare checks messages against the bounds of this package and returns the copies that a store is to write, with
// every default filled in. Nothing of a caller's message is shared or changed, but for a zero ID, which is set once
// all have passed. The error is a [*FieldError] that names the field and the bound. It is for authors of stores.
func Prepare(ctx context.Context, config EnqueueConfig, messages ...*Message) ([]*Message, error) {
	copies := make([]*Message, len(messages))
	for i, m := range messages {
		c, err := prepare(ctx, config, m)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(messages), err)
		}
		copies[i] = c
	}
	if err := giveIDs(ctx, messages, copies); err != nil {
		return nil, err
	}
	return copies, nil
}

func prepare(ctx context.Context, config EnqueueConfig, m *Message) (*Message, error) {
	if m == nil {
		return nil, &FieldError{Field: "Message", Code: CodeMissing}
	}
	if err := m.checkPayload(config.maxPayload()); err != nil { // before it is copied
		return nil, err
	}
	c := m.clone()
	c.setDefaults(ctx)
	if err := c.check(); err != nil {
		return nil, err
	}
	own := len(c.Headers)
	c.addHeaders(ctx, config.Headers)
	if len(c.Headers) == own {
		return c, nil
	}
	return c, c.checkHeaders()
}

func (c EnqueueConfig) maxPayload() int {
	if c.MaxPayload == 0 {
		return defaultMaxPayload
	}
	return min(c.MaxPayload, MaxPayloadCeiling)
}

func (m *Message) setDefaults(ctx context.Context) {
	if m.Version == 0 {
		m.Version = 1
	}
	if m.ContentType == "" {
		m.ContentType = "application/octet-stream"
	}
	if m.Tenant == "" {
		m.Tenant = Tenant(ctx)
	}
	m.CreatedAt = time.Time{}
}

// addHeaders adds what the context carries under names that m does not have yet.
func (m *Message) addHeaders(ctx context.Context, more func(context.Context, *Message) []Header) {
	var extra []Header
	if id := CorrelationID(ctx); id != "" {
		extra = append(extra, Header{HeaderCorrelationID, id})
	}
	if more != nil {
		extra = append(extra, more(ctx, m)...)
	}
	own := len(m.Headers)
	for _, h := range extra {
		if !hasHeader(m.Headers[:own], h.Name) {
			m.Headers = append(m.Headers, h)
		}
	}
}

// giveIDs sets missing ids on the caller's messages and on the copies, or none if one is refused.
func giveIDs(ctx context.Context, messages, copies []*Message) error {
	err := fillIDs(ctx, messages)
	for i, m := range messages {
		switch {
		case err == nil:
			copies[i].ID = m.ID
		case m.ID != copies[i].ID:
			m.ID = copies[i].ID // as it was
		}
	}
	return err
}

func fillIDs(ctx context.Context, messages []*Message) (err error) {
	seen := make(map[uuid.UUID]bool, len(messages))
	for _, m := range messages {
		if m.ID == uuid.Nil {
			if m.ID, err = newID(ctx); err != nil {
				return fmt.Errorf("make a message id: %w", err)
			}
		}
		switch {
		case m.ID == uuid.Nil:
			return &FieldError{Field: "ID", Code: CodeMissing, Hint: "the function of WithIDs returned the zero UUID"}
		case seen[m.ID]:
			return &FieldError{Field: "ID", Code: CodeDuplicateID, Hint: "enqueue each message once"}
		}
		seen[m.ID] = true
	}
	return nil
}
