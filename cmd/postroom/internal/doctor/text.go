package doctor

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// size is a number of bytes for people.
func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) } //nolint:gosec // not negative

// span is a number of seconds for people.
func span(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// count is a number of things, for people.
func count(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %ss", humanize.Comma(n), one)
}
