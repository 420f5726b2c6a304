package outbox

import (
	"log/slog"
	"time"
)

// Mode is how far a relay goes to keep the order of a key.
type Mode int

const (
	// Ordered never lets the broker accept a later message of a key before an earlier one is settled. A
	// [KeyOrderer] gets whole claims; any other publisher gets one message of a key at a time.
	Ordered Mode = iota
	// Pipelined hands over a claim at once, whatever the publisher. When a message in the middle fails, later ones of
	// its key may arrive before it: a consumer may see 2, 3, 1.
	Pipelined
)

// RelayConfig tunes a relay. The zero value works.
type RelayConfig struct {
	// ID is a label for logs and tables; it grants nothing. Defaults to the host name and the process id.
	ID string
	// Workers claim and publish side by side, each on lanes of its own. Defaults to 4.
	Workers int
	// Batch bounds the messages of a claim. Defaults to 500.
	Batch int
	// BatchBytes bounds the payload bytes of a claim of more than one message. Defaults to 8 MiB.
	BatchBytes int
	// Lease is how long the relay's lanes stay its own without renewal: how long a crash delays them. Defaults to 15 s.
	Lease time.Duration
	// Renew is the pause between renewals. Defaults to a third of Lease.
	Renew time.Duration
	// Poll is the longest pause between two looks at an idle store; the shortest is a twentieth of it. Defaults to 1 s.
	Poll time.Duration
	// Mode defaults to Ordered.
	Mode Mode
	// Policy says how often and how fast a message is tried.
	Policy Policy
	// Topics overrides Policy by topic.
	Topics map[string]Policy
	// MaxCrashes parks a message that was alone in that many claims that ended with the process. Defaults to 3.
	MaxCrashes int
	// MaxPublishDuration bounds one call of Publish. Required, with MaxPublishDuration + Renew < Lease, for a store that is
	// no [LaneRenewer]; otherwise unused.
	MaxPublishDuration time.Duration
	// StopTimeout bounds what Run does after its context has ended. Defaults to 10 s.
	StopTimeout time.Duration
	// Logger defaults to slog.Default.
	Logger *slog.Logger
}
