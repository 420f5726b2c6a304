package health

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Config says what is looked at, and what is still well. The zero value looks at the relays alone.
type Config struct {
	// Store is asked for its backlog. Defaults to nil: only the relays are looked at.
	Store outbox.Backlogger
	// MaxAge is how long ago the oldest of the messages that are due may have become so. Negative means any age. Defaults
	// to 5 minutes.
	MaxAge time.Duration
	// MaxBacklog is how many messages may be due. Defaults to 0: any number.
	MaxBacklog int
	// MaxParked is how many messages may be parked; negative means none. Defaults to 0: any number, because one that is
	// parked waits for a person, and should neither take a process out of service nor hold back the release that mends it.
	MaxParked int
	// StuckAfter is how long ago a relay that is ready may have had its last answer to a claim: longer than Poll and than
	// a call of Publish may take. Defaults to 2 minutes.
	StuckAfter time.Duration
	// Every is how long a look at the backlog holds, so that probes that come often ask the store seldom. Defaults to 10
	// seconds.
	Every time.Duration
	// Timeout bounds a look at the backlog, beside the context of who asks. Defaults to 2 seconds.
	Timeout time.Duration
	// Logger gets the error of a backlog that is not known, which no answer shows. Defaults to slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.MaxAge = cmp.Or(c.MaxAge, 5*time.Minute)
	c.StuckAfter = cmp.Or(c.StuckAfter, 2*time.Minute)
	c.Every = cmp.Or(c.Every, 10*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}
