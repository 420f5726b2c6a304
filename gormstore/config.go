package gormstore

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Config sets up a [Store]. Its zero value works.
type Config struct {
	// Name is the prefix of the tables: at most 38 letters, digits and underscores. Defaults to "outbox".
	Name string
	// Schema is the PostgreSQL schema of the tables, or their database on MariaDB and MySQL; SQLite has none. Defaults
	// to the connection's search path, or its database.
	Schema string
	// StrictKeys makes Enqueue take a lock for each key until the transaction ends, so that messages of one key keep
	// their order even when their writers hold no other common lock. Defaults to false.
	StrictKeys bool
	// MaxPayload bounds a message's payload in bytes, up to 16 MiB. Defaults to 8 MiB.
	MaxPayload int
	// Headers returns headers to add to m from its context, such as the trace context, see [outbox.EnqueueConfig].
	// Defaults to none.
	Headers func(ctx context.Context, m *outbox.Message) []outbox.Header
	// Registry says how events that models raise become messages, see [Events]. Defaults to none, and then a model that
	// has raised an event cannot be saved.
	Registry *outbox.Registry
	// Control is a pool apart for renewing leases, so that they never wait for a busy one, and for hearing what other
	// processes commit, which takes one connection past any pooler. Defaults to the pool of the GORM handle.
	Control *sql.DB
	// ReplayWindow is how long after it was handled a message may come to the inbox again: how long topics keep what was
	// consumed, or how long an operator may wait before sending it once more. Defaults to 7 days, as long as Kafka keeps.
	ReplayWindow time.Duration
	// InboxRetention is how long the inbox remembers a message that was handled, longer than ReplayWindow. Defaults to a
	// day more than that.
	InboxRetention time.Duration
	// Archive is how long delivered messages are kept, in a table of their own. Settling then costs about twice as much.
	// All relays of an outbox should have the same. Defaults to 0: they are deleted.
	Archive time.Duration
	// Logger gets what no caller can be told. Defaults to slog.Default().
	Logger *slog.Logger
}

func (c Config) enqueue() outbox.EnqueueConfig {
	return outbox.EnqueueConfig{MaxPayload: c.MaxPayload, Headers: c.Headers}
}

// MigrateConfig says which tables [Migrate] makes.
type MigrateConfig struct {
	// Name is the prefix of the tables, as in [Config]. Defaults to "outbox".
	Name string
	// Schema is the PostgreSQL schema, or the database on MariaDB and MySQL, made when it is missing. Defaults to the
	// connection's search path, or its database.
	Schema string
	// Lanes is the number of lanes, 1 to 4096, fixed for good by the first migration. Defaults to 64.
	Lanes int
}
