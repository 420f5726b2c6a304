package outbox

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
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

// RelayConfig tunes a relay. The zero value works; a value outside its bounds is a [*FieldError].
type RelayConfig struct {
	// ID is a label for logs and tables, at most 128 bytes; it grants nothing. Defaults to the host name and process id.
	ID string
	// Workers claim and publish side by side, each on lanes of its own; 1 to 64. Defaults to 4.
	Workers int
	// Batch bounds the messages of a claim; 1 to 10 000. Defaults to 500.
	Batch int
	// BatchBytes bounds the payload bytes of a claim of more than one message; 1 to 256 MiB. Defaults to 8 MiB.
	BatchBytes int
	// Lease is how long the relay's lanes stay its own without renewal, and so how long a crash delays them; 100 ms to
	// 15 min. Defaults to 15 s.
	Lease time.Duration
	// Renew is the pause between renewals, at most half of Lease. Defaults to a third of Lease.
	Renew time.Duration
	// Poll is the longest pause between two looks at all lanes while they find nothing, the shortest is a twentieth of
	// it; 1 ms to 60 s. What news of commits names is looked for at once. Defaults to 1 s.
	Poll time.Duration
	// Mode defaults to Ordered.
	Mode Mode
	// Policy says how often and how fast a message is tried.
	Policy Policy
	// Topics overrides Policy by topic.
	Topics map[string]Policy
	// MaxCrashes parks a message that was alone in that many claims that ended with the process; 1 to 100. Defaults to
	// 3.
	MaxCrashes int
	// MaxPublishDuration bounds one call of Publish. Required for a store that is no [LaneRenewer], with
	// MaxPublishDuration + Renew < Lease; a publisher that exceeds it ends the relay. Otherwise unused.
	MaxPublishDuration time.Duration
	// StopTimeout bounds what Run does after its context has ended; 1 ms to 5 min. Defaults to 10 s.
	StopTimeout time.Duration
	// Logger defaults to slog.Default.
	Logger *slog.Logger
	// Observer is told what the relay does. Defaults to nobody.
	Observer Observer
}

func (c RelayConfig) withDefaults() RelayConfig {
	c.ID = cmp.Or(c.ID, defaultRelayID())
	c.Workers = cmp.Or(c.Workers, 4)
	c.Batch = cmp.Or(c.Batch, 500)
	c.BatchBytes = cmp.Or(c.BatchBytes, 8<<20)
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.Renew = cmp.Or(c.Renew, c.Lease/3)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.MaxCrashes = cmp.Or(c.MaxCrashes, 3)
	c.StopTimeout = cmp.Or(c.StopTimeout, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Policy = c.Policy.inherit(defaultPolicy)
	topics := make(map[string]Policy, len(c.Topics))
	for topic, p := range c.Topics {
		topics[topic] = p.inherit(c.Policy)
	}
	c.Topics = topics
	return c
}

// check holds every field against its bounds and its relations to the others; c has its defaults.
func (c RelayConfig) check(store Store) error {
	if err := checkText("ID", c.ID, 128); err != nil {
		return err
	}
	for _, f := range []struct {
		name          string
		got, low, top int
	}{
		{"Workers", c.Workers, 1, 64},
		{"Batch", c.Batch, 1, 10_000},
		{"BatchBytes", c.BatchBytes, 1, 256 << 20},
		{"MaxCrashes", c.MaxCrashes, 1, 100},
		{"Mode", int(c.Mode), int(Ordered), int(Pipelined)},
	} {
		if err := checkRange(f.name, f.got, f.low, f.top); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name          string
		got, low, top time.Duration
	}{
		{"Lease", c.Lease, 100 * time.Millisecond, 15 * time.Minute},
		{"Renew", c.Renew, time.Millisecond, c.Lease / 2},
		{"Poll", c.Poll, time.Millisecond, time.Minute},
		{"StopTimeout", c.StopTimeout, time.Millisecond, 5 * time.Minute},
	} {
		if err := checkDuration(f.name, f.got, f.low, f.top); err != nil {
			return err
		}
	}
	return c.checkPolicies(store)
}

func (c RelayConfig) checkPolicies(store Store) error {
	if err := c.Policy.check("Policy"); err != nil {
		return err
	}
	for topic, p := range c.Topics {
		if err := p.check(fmt.Sprintf("Topics[%q]", topic)); err != nil {
			return err
		}
	}
	if _, ok := store.(LaneRenewer); ok {
		return nil
	}
	if c.MaxPublishDuration <= 0 {
		return &FieldError{
			Field: "MaxPublishDuration", Code: CodeMissing,
			Hint: "this store cannot renew lanes during a publish, so the publisher's longest call must be known",
		}
	}
	return checkDuration("MaxPublishDuration", c.MaxPublishDuration, 1, c.Lease-c.Renew-1)
}

// policy returns the policy of a topic.
func (c RelayConfig) policy(topic string) Policy {
	if p, ok := c.Topics[topic]; ok {
		return p
	}
	return c.Policy
}

func checkRange(field string, got, low, top int) error {
	if got < low || got > top {
		return &FieldError{Field: field, Code: CodeOutOfRange, Limit: min(max(got, low), top), Got: got}
	}
	return nil
}

func checkDuration(field string, got, low, top time.Duration) error {
	if got < low || got > top {
		return &FieldError{
			Field: field, Code: CodeOutOfRange, Limit: int(min(max(got, low), top)), Got: int(got),
			Hint: fmt.Sprintf("%v is not within %v and %v", got, low, top),
		}
	}
	return nil
}

func defaultRelayID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "relay"
	}
	return fmt.Sprintf("%.100s-%d", host, os.Getpid())
}
