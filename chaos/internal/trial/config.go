//go:build unix

// Package trial is one run of the fault suite: servers, writers, relays and consumers start, faults happen, everything
// heals, and the verifier judges what was recorded.
package trial

import (
	"time"

	"github.com/postroom/postroom/verify"
)

// Config is one trial. Programs, Seed, Broker, Duration and Tell are required.
type Config struct {
	Programs Programs
	Seed     uint64
	Broker   string // stage.Kafka or stage.AMQP
	Nodes    int    // of the broker. Defaults to 1
	Duration time.Duration
	Relays   int           // processes. Defaults to 3
	Rate     int           // messages a second. Defaults to 800
	Lease    time.Duration // of the relays. Defaults to 2 s
	Patience time.Duration // of relays with the broker. Defaults to 4 s, so that a fault's end is soon noticed
	Quiet    time.Duration // without faults, after 40 s of them. Defaults to 10 s
	Deploys  int           // instead of faults, restarts of relays one after another, under load
	Calm     bool          // no faults
	Only     []string      // kinds of faults. Defaults to all
	Broken   string        // the guard that relays are made without
	Keep     string        // folder for the history of a trial that broke a promise. Defaults to none
	Tell     func(format string, args ...any)
}

func (c Config) withDefaults() Config {
	defaultTo(&c.Nodes, 1)
	defaultTo(&c.Relays, 3)
	defaultTo(&c.Rate, 800)
	defaultTo(&c.Lease, 2*time.Second)
	defaultTo(&c.Patience, 4*time.Second)
	defaultTo(&c.Quiet, 10*time.Second)
	return c
}

func defaultTo[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// plain reports that neither the shop nor messages that cannot be delivered take part.
func (c Config) plain() bool { return c.Calm || c.Deploys > 0 || len(c.Only) > 0 }

// Outcome is what came of a trial.
type Outcome struct {
	Faults   map[string]int // by kind
	Recovery time.Duration  // from the last fault until the outbox was empty
	Report   *verify.Report
	Problems []string // what else was wrong: leaks, relays that ended by themselves
	Starts   int      // of relay processes
	InDoubt  int      // commits without an answer
}

// OK reports that nothing was wrong.
func (o *Outcome) OK() bool { return o.Report != nil && o.Report.OK() && len(o.Problems) == 0 }
