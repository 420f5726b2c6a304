package outbox

import "time"

// OnExhausted is what happens to a message that failed for the last time.
type OnExhausted int

// The choices. The zero value inherits.
const (
	Inherit OnExhausted = iota
	Park                // set the message aside; later ones of its key wait until someone acts
	Skip                // set the message aside; its key goes on
	Stop                // end the relay with an *ExhaustedError
)

// Policy says how often and how fast a message is tried. A zero field inherits: a topic's policy from
// [RelayConfig.Policy], and that from the defaults named here.
type Policy struct {
	// MaxAttempts bounds refusals that are about the message; a permanent one is the last at once. Outages and
	// unknown outcomes never count. Defaults to 10.
	MaxAttempts int
	// MaxHandovers bounds hand-overs of any outcome, outages included. Defaults to no bound.
	MaxHandovers int
	// MinBackoff is the wait after the first failure; it doubles with each further one. Defaults to 250 ms.
	MinBackoff time.Duration
	// MaxBackoff bounds the wait. Defaults to 5 minutes.
	MaxBackoff time.Duration
	// OnExhausted defaults to Park.
	OnExhausted OnExhausted
}
