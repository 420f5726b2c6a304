package subject

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/postroom/postroom/outbox"
)

// RunRelay runs a relay of OursKafka or OursAMQP on a store until ctx ends. It calls ready once the relay is, and
// settled with the number of messages that each claim delivered; both may be nil.
func RunRelay(
	ctx context.Context, name string, s *Store, site Site, c outbox.RelayConfig, ready func(), settled func(n int),
) (err error) {
	open := ourKafka
	if name == OursAMQP {
		open = ourAMQP
	}
	p, err := open(site)
	if err != nil {
		return fmt.Errorf("open the publisher: %w", err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if settled == nil {
		settled = func(int) {}
	}
	c.Logger = slog.Default()
	relay, err := outbox.NewRelay(counting{s, settled}, p, c)
	if err != nil {
		return fmt.Errorf("make the relay: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	begun := func() (bool, error) {
		state := relay.Snapshot().State
		return state != outbox.StateIdle && state != outbox.StateStarting, nil
	}
	if err = until(ctx, begun); err == nil && ready != nil {
		ready()
	}
	return <-ended
}
