package relays

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
	"github.com/postroom/postroom/outbox"
)

// Variable of the environment that makes the command a relay, and tells it which.
const variable = "POSTROOM_BENCH_RELAY"

// assignment is what the relay of a process is to do.
type assignment struct {
	Subject     string
	At          servers.Addresses
	Database    string
	Destination string
	Lease       time.Duration
}

// What a relay says on its standard output: readyWord once, and settledWord with a number for each claim.
const (
	readyWord   = "ready"
	settledWord = "settled"
)

// Wanted reports whether this process was started to be a relay.
func Wanted() bool { return os.Getenv(variable) != "" }

// Main is such a process. It ends with SIGTERM.
func Main() error {
	var a assignment
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &a); err != nil {
		return fmt.Errorf("read %s: %w", variable, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return a.run(ctx)
}

func (a assignment) run(ctx context.Context) (err error) {
	site := subject.Site{Addresses: a.At, Database: a.Database, Destination: a.Destination}
	s, err := subject.OpenStore(ctx, site)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return subject.RunRelay(ctx, a.Subject, s, site, outbox.RelayConfig{Lease: a.Lease},
		func() { fmt.Println(readyWord) }, func(n int) { fmt.Println(settledWord, n) })
}
