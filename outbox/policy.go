package outbox

import (
	"cmp"
	"math/rand/v2"
	"time"
)

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
	// unknown outcomes never count. 1 to 1000. Defaults to 10.
	MaxAttempts int
	// MaxHandovers bounds hand-overs of any outcome, outages included. Defaults to no bound.
	MaxHandovers int
	// MinBackoff is the wait after the first failure; it doubles with each further one. 1 ms to 60 s. Defaults to 250
	// ms.
	MinBackoff time.Duration
	// MaxBackoff bounds the wait, at most an hour. Defaults to 5 minutes.
	MaxBackoff time.Duration
	// OnExhausted defaults to Park.
	OnExhausted OnExhausted
}

var defaultPolicy = Policy{
	MaxAttempts: 10,
	MinBackoff:  250 * time.Millisecond,
	MaxBackoff:  5 * time.Minute,
	OnExhausted: Park,
}

// An outage ends for all messages at once, so what waits for its end comes back soon whatever it has been through.
const (
	maxUnavailableBackoff = 5 * time.Second
	maxUnknownBackoff     = 30 * time.Second
)

func (p Policy) inherit(from Policy) Policy {
	return Policy{
		MaxAttempts:  cmp.Or(p.MaxAttempts, from.MaxAttempts),
		MaxHandovers: cmp.Or(p.MaxHandovers, from.MaxHandovers),
		MinBackoff:   cmp.Or(p.MinBackoff, from.MinBackoff),
		MaxBackoff:   cmp.Or(p.MaxBackoff, from.MaxBackoff),
		OnExhausted:  cmp.Or(p.OnExhausted, from.OnExhausted),
	}
}

func (p Policy) check(name string) error {
	return cmp.Or(
		checkRange(name+".MaxAttempts", p.MaxAttempts, 1, 1000),
		checkRange(name+".MaxHandovers", p.MaxHandovers, 0, 1_000_000),
		checkDuration(name+".MinBackoff", p.MinBackoff, time.Millisecond, time.Minute),
		checkDuration(name+".MaxBackoff", p.MaxBackoff, p.MinBackoff, time.Hour),
		checkRange(name+".OnExhausted", int(p.OnExhausted), int(Park), int(Stop)),
	)
}

// backoff is the wait after the nth failure: MinBackoff doubled n-1 times and up to a quarter more, so that messages
// that failed together do not come back together; at most top, and then from four fifths of it up.
func (p Policy) backoff(n int, top time.Duration, jitter *rand.Rand) time.Duration {
	return backoff(n, p.MinBackoff, min(p.MaxBackoff, top), jitter)
}

func backoff(n int, low, top time.Duration, jitter *rand.Rand) time.Duration {
	d := low
	for ; n > 1 && d < top; n-- {
		d *= 2
	}
	d = max(low, min(d, top-top/5))
	d += time.Duration(jitter.Int64N(int64(d)/4 + 1))
	return min(d, top)
}
