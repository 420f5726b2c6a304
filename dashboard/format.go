package dashboard

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

func funcs(version string) template.FuncMap {
	return template.FuncMap{
		"asset":    func(name string) string { return "assets/" + name + "?v=" + version },
		"age":      formatAge,
		"num":      formatNumber[int],
		"count":    formatNumber[uint64],
		"atLeast":  atLeast,
		"utc":      func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"short":    shortID,
		"status":   statusName,
		"zero":     func(id uuid.UUID) bool { return id == uuid.Nil },
		"aside":    isAside,
		"query":    url.QueryEscape,
		"scoped":   func(deed string) bool { return deed == "pause" || deed == "resume" },
		"messages": func(n int) string { return plural(n, "message", "messages") },
	}
}

// formatAge writes a duration in one or two units, so that it is read at a glance.
func formatAge(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(1, d.Milliseconds()))
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return twoUnits(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < 48*time.Hour:
		return twoUnits(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	}
	return twoUnits(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

func twoUnits(large int, unit string, small int, smaller string) string {
	if small == 0 {
		return fmt.Sprintf("%d %s", large, unit)
	}
	return fmt.Sprintf("%d %s %d %s", large, unit, small, smaller)
}

// formatNumber groups digits.
func formatNumber[N int | uint64](n N) string {
	digits := strconv.FormatUint(uint64(max(n, 0)), 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// atLeast says of a count whether it is a lower bound.
func atLeast(n int, capped bool) string {
	if capped {
		return "at least " + formatNumber(n)
	}
	return formatNumber(n)
}

func formatBytes(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// shortID is the end of an id: the beginning of a UUIDv7 is its time, alike in neighbours.
func shortID(id uuid.UUID) string {
	text := id.String()
	return "…" + text[len(text)-12:]
}

func statusName(s outbox.Status) string { return strings.ReplaceAll(string(s), "_", " ") }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return formatNumber(n) + " " + many
}
