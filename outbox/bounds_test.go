package outbox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// Every bound of a configuration is allowed, and the next value beyond it is not.
func TestNewRelay_bounds(t *testing.T) {
	t.Parallel()
	type config = outbox.RelayConfig
	number := func(name string, low, top int, set func(*config, int)) []bound {
		return []bound{
			{name, func(c *config) { set(c, low) }, func(c *config) { set(c, low-1) }},
			{name, func(c *config) { set(c, top) }, func(c *config) { set(c, top+1) }},
		}
	}
	span := func(name string, low, top time.Duration, set func(*config, time.Duration)) []bound {
		return number(name, int(low), int(top), func(c *config, n int) { set(c, time.Duration(n)) })
	}
	all := [][]bound{
		number("Workers", 1, 64, func(c *config, n int) { c.Workers = orMinus(n) }),
		number("Batch", 1, 10_000, func(c *config, n int) { c.Batch = orMinus(n) }),
		number("BatchBytes", 1, 256<<20, func(c *config, n int) { c.BatchBytes = orMinus(n) }),
		number("MaxCrashes", 1, 100, func(c *config, n int) { c.MaxCrashes = orMinus(n) }),
		number("Mode", 0, 1, func(c *config, n int) { c.Mode = outbox.Mode(n) }),
		span("Lease", 100*time.Millisecond, 15*time.Minute, func(c *config, d time.Duration) { c.Lease = d }),
		span("Renew", time.Millisecond, 5*time.Second, func(c *config, d time.Duration) {
			c.Lease, c.Renew = 10*time.Second, d
		}),
		span("Poll", time.Millisecond, time.Minute, func(c *config, d time.Duration) { c.Poll = d }),
		span("StopTimeout", time.Millisecond, 5*time.Minute, func(c *config, d time.Duration) { c.StopTimeout = d }),
		number("Policy.MaxAttempts", 1, 1000, func(c *config, n int) { c.Policy.MaxAttempts = orMinus(n) }),
		number("Policy.MaxHandovers", 0, 1_000_000, func(c *config, n int) { c.Policy.MaxHandovers = n }),
		span("Policy.MinBackoff", time.Millisecond, time.Minute, func(c *config, d time.Duration) {
			c.Policy.MinBackoff = d
		}),
		span("Policy.MaxBackoff", time.Second, time.Hour, func(c *config, d time.Duration) {
			c.Policy.MinBackoff, c.Policy.MaxBackoff = time.Second, d
		}),
	}
	s, b := memstore.New(memstore.Config{}), new(broker)
	for _, bounds := range all {
		for i, f := range bounds {
			t.Run("of_"+f.field+"_"+[]string{"least", "most"}[i], func(t *testing.T) {
				t.Parallel()
				var fits, not config
				f.at(&fits)
				f.beyond(&not)
				if _, err := outbox.NewRelay(s, b, fits); err != nil {
					t.Errorf("the bound itself: %v", err)
				}
				_, err := outbox.NewRelay(s, b, not)
				if e, ok := errors.AsType[*outbox.FieldError](err); !ok || e.Field != f.field || e.Code != outbox.CodeOutOfRange {
					t.Errorf("beyond the bound: got %v, want a *FieldError of %s", err, f.field)
				}
			})
		}
	}
	t.Run("of_ID_in_bytes", func(t *testing.T) {
		t.Parallel()
		if _, err := outbox.NewRelay(s, b, config{ID: strings.Repeat("x", 128)}); err != nil {
			t.Errorf("128 bytes: %v", err)
		}
		_, err := outbox.NewRelay(s, b, config{ID: strings.Repeat("x", 129)})
		if e, ok := errors.AsType[*outbox.FieldError](err); !ok || e.Field != "ID" || e.Limit != 128 {
			t.Errorf("129 bytes: got %v, want a *FieldError of ID", err)
		}
	})
}

// bound is one end of a field's range, and the next value beyond it.
type bound struct {
	field      string
	at, beyond func(*outbox.RelayConfig)
}

// orMinus returns n, and -1 for zero, which means the default.
func orMinus(n int) int {
	if n == 0 {
		return -1
	}
	return n
}
