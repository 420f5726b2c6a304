package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// print writes v as one JSON document, or, without --json, what text writes for people.
func (t *target) print(c *cobra.Command, v any, text func(w io.Writer)) error {
	if !t.json {
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
		text(w)
		return w.Flush()
	}
	e := json.NewEncoder(c.OutOrStdout())
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// row writes the cells of a table's row. Cells are short and for people, so what could steer a terminal is quoted.
func row(w io.Writer, cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = plain(fmt.Sprint(cell))
		if texts[i] == "" {
			texts[i] = "-"
		}
	}
	fmt.Fprintln(w, strings.Join(texts, "\t"))
}

// plain quotes text that is not printable from end to end.
func plain(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return text
	}
	return strconv.Quote(text)
}

// short cuts text for a cell.
func short(text string, runes int) string {
	list := []rune(text)
	if len(list) <= runes {
		return text
	}
	return string(list[:runes-1]) + "…"
}

// span is a duration in its two largest units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
	case d < time.Second:
		return sign + strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return fmt.Sprintf("%s%ds", sign, d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%s%dm%ds", sign, d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%s%dh%dm", sign, d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%s%dd%dh", sign, d/day, d%day/time.Hour)
}

// seconds is a duration as JSON has it, in milliseconds exactly.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// instant is a time as people read it.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// count is n of something.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}
