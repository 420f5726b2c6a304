package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Header is one name and value. Order and duplicate names are kept.
type Header struct {
	Name  string
	Value string
}

// Message is one outgoing event or command: what the application writes and what the broker receives.
type Message struct {
	// ID names the message on every attempt, every broker and every relay. Defaults to a new UUIDv7, which Enqueue
	// writes here; it writes nothing else into the caller's message.
	ID uuid.UUID
	// Topic is where the message goes: a Kafka topic, or on RabbitMQ the exchange. Required, at most [MaxTopic] bytes.
	Topic string
	// Key orders: messages of one key are delivered in order. Empty means no key and no order. At most [MaxKey] bytes.
	Key string
	// Type is the stable wire name of what the message says, never a Go type name. Required, at most 255 bytes.
	Type string
	// Version is the version of Type's schema, from 1 to 65535. Defaults to 1.
	Version int
	// Payload is sent as it is. Nil is a tombstone, which is not the same as empty.
	Payload []byte
	// ContentType is the media type of Payload. Defaults to application/octet-stream.
	ContentType string
	// Headers travel with the message. The names that [WireHeaders] writes are reserved.
	Headers []Header
	// Transport names the broker connection when a relay serves several, see [Mux]. Defaults to the relay's only one.
	Transport string
	// Tenant is whom the message belongs to. Defaults to the tenant of the context, see [WithTenant].
	Tenant string
	// AvailableAt is the earliest time of delivery. Until then the message neither holds its key nor is held by it; then
	// it joins the key's order. At most the year 9998. Defaults to at once.
	AvailableAt time.Time
	// CreatedAt is when the message was stored, by the database's clock. Enqueue ignores what the caller put here.
	CreatedAt time.Time
}

// Enqueuer stores messages in the transaction that ctx carries, so that they are published if, and only if, that
// transaction commits. Without one it returns [ErrNoTransaction].
type Enqueuer interface {
	Enqueue(ctx context.Context, messages ...*Message) error
}

// Transactor runs fn in a transaction that fn's context carries, and joins one that ctx already carries. An error or
// a panic of fn rolls back, and where fn has joined, all of it. A nil return of the outer call means that the commit
// succeeded.
type Transactor interface {
	InTransaction(ctx context.Context, fn func(ctx context.Context) error) error
}

// clone returns a copy that shares no memory with m.
func (m *Message) clone() *Message {
	c := *m
	c.Payload = slices.Clone(m.Payload)
	c.Headers = slices.Clone(m.Headers)
	return &c
}
