package relayconf

import (
	"io"
	"log/slog"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry/health"
)

var modes = map[string]outbox.Mode{"ordered": outbox.Ordered, "pipelined": outbox.Pipelined}

var exhausted = map[string]outbox.OnExhausted{"park": outbox.Park, "skip": outbox.Skip, "stop": outbox.Stop}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// RelayConfig is what the engine gets.
func (c Config) RelayConfig(log *slog.Logger) outbox.RelayConfig {
	topics := make(map[string]outbox.Policy, len(c.Relay.Topics))
	for topic, p := range c.Relay.Topics {
		topics[topic] = Policy(p).policy()
	}
	r := c.Relay
	return outbox.RelayConfig{
		ID: r.ID, Workers: r.Workers, Batch: r.Batch, BatchBytes: int(r.BatchBytes),
		Lease: r.Lease, Renew: r.Renew, Poll: r.Poll, Mode: modes[r.Mode],
		Policy: r.Policy.policy(), Topics: topics, MaxCrashes: r.MaxCrashes, StopTimeout: r.StopTimeout,
		Logger: log,
	}
}

func (p Policy) policy() outbox.Policy {
	return outbox.Policy{
		MaxAttempts: p.MaxAttempts, MaxHandovers: p.MaxHandovers,
		MinBackoff: p.MinBackoff, MaxBackoff: p.MaxBackoff, OnExhausted: exhausted[p.OnExhausted],
	}
}

// StoreConfig is what the store gets, but for its control pool.
func (c Config) StoreConfig(log *slog.Logger) gormstore.Config {
	return gormstore.Config{
		Name: c.Database.Name, Schema: c.Database.Schema, Archive: c.Archive.Retention, Logger: log,
	}
}

// HealthConfig is what the probes get.
func (c Config) HealthConfig(store outbox.Backlogger, log *slog.Logger) health.Config {
	h := c.Health
	return health.Config{
		Store: store, MaxAge: h.MaxAge, MaxBacklog: h.MaxBacklog, MaxParked: h.MaxParked, StuckAfter: h.StuckAfter,
		Logger: log,
	}
}

// Logger writes to w.
func (c Config) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: levels[c.Log.Level]}
	if c.Log.Format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
