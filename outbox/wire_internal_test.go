package outbox

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWireTime(t *testing.T) {
	t.Parallel()
	t.Run("is_RFC_3339_in_UTC_with_six_digits", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			seconds := rapid.Int64Range(-2_000_000_000, 20_000_000_000).Draw(t, "seconds")
			nanos := rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")
			zone := time.FixedZone("", rapid.IntRange(-50_000, 50_000).Draw(t, "zone"))
			at := time.Unix(seconds, nanos).In(zone)
			if got, want := wireTime(at), at.UTC().Format("2006-01-02T15:04:05.000000Z07:00"); got != want {
				t.Errorf("%v is written as %s, want %s", at, got, want)
			}
		})
	})
}
