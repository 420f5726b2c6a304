package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/postroom/postroom/bench/internal/latency"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

//go:embed bars.svg
var barsText string

// Plots are SVG pictures by the names of their files. One for which nothing was measured is left out.
func Plots(f *results.File, comparisons []Comparison) (map[string][]byte, error) {
	pictures := map[string][]byte{}
	for name, bars := range map[string]bars{
		"bench-kafka.svg":    drainBars(f.Summaries, groups()[0]),
		"bench-rabbitmq.svg": drainBars(f.Summaries, groups()[1]),
		"bench-latency.svg":  latencyBars(f.Summaries),
		"bench-store.svg":    storeBars(f.Summaries, comparisons),
	} {
		if len(bars.values) == 0 {
			continue
		}
		picture, err := bars.draw()
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", name, err)
		}
		pictures[name] = picture
	}
	return pictures, nil
}

// bars are a bar chart, its bars from top to bottom.
type bars struct {
	title, axis string
	values      []bar
	mark        float64 // where a line is drawn, if not 0
}

type bar struct {
	name  string
	value float64
	ours  bool
}

func (b *bars) add(name string, value float64, ours bool) {
	if value > 0 {
		b.values = append(b.values, bar{name, value, ours})
	}
}

// drainBars are the drains of small bodies and even keys.
func drainBars(summaries []results.Summary, g group) bars {
	b := bars{title: strings.ToUpper(g.title[:1]) + g.title[1:] + ", 1 000 keys, 300 bytes", axis: "messages a second"}
	for _, s := range g.members(summaries) {
		limit := s.Subject == subject.RawKafkaProduce || s.Subject == subject.RawAMQPPublish // of the broker alone
		if !limit && s.Workload.Keys > 1 && s.Workload.Spread == "" && s.Workload.Size != subject.LargeDrain {
			b.add(s.Subject, s.Rate.Median, strings.HasPrefix(s.Subject, "ours"))
		}
	}
	return b
}

// latencyBars are the percentiles at 500 messages a second.
func latencyBars(summaries []results.Summary) bars {
	b := bars{title: "From commit to consumer at 500 messages a second", axis: "milliseconds"}
	for _, spec := range subject.Flows() {
		s := find(summaries, Of{Kind: results.Latency, Subject: spec.Name, Condition: "500/s"})
		for _, p := range []struct{ figure, word string }{
			{latency.P50, "p50"}, {latency.P99, "p99"}, {latency.P999, "p99.9"},
		} {
			b.add(s.Subject+" "+p.word, s.Figures[p.figure].Median, strings.HasPrefix(s.Subject, "ours"))
		}
	}
	return b
}

// storeBars are the comparisons of a tired database with a clean one.
func storeBars(summaries []results.Summary, comparisons []Comparison) bars {
	b := bars{
		title: "Claim and settle in a tired database", axis: "rate beside that in the clean database; target 0.9",
		mark: 0.9,
	}
	for _, c := range comparisons {
		if !strings.HasPrefix(c.Name, "held_") && !strings.HasPrefix(c.Name, "backlog_") {
			continue
		}
		if value, ok := c.value(summaries); ok {
			b.add(strings.ReplaceAll(c.Name, "_", " "), value, true)
		}
	}
	return b
}

// The measures of a chart, in pixels.
const (
	width, leftOfBars, topOfBars = 760, 200, 62
	lineHeight, roomForValues    = 26, 80
)

// drawing is what bars.svg shows.
type drawing struct {
	Title, Axis                      string
	Width, Height, Left, Top, Bottom int
	Mark                             int
	Bars                             []drawnBar
}

type drawnBar struct {
	Name, Value    string
	Y, Length, End int
	Ours           bool
}

// draw returns the chart as SVG.
func (b bars) draw() ([]byte, error) {
	picture, err := template.New("bars").Parse(barsText)
	if err != nil {
		return nil, err
	}
	longest := slices.MaxFunc(b.values, func(x, y bar) int { return cmp.Compare(x.value, y.value) }).value
	length := func(value float64) int {
		return int(value / max(longest, b.mark) * (width - leftOfBars - roomForValues))
	}
	bottom := topOfBars + len(b.values)*lineHeight
	d := drawing{
		Title: b.title, Axis: b.axis, Width: width, Height: bottom + 16, Left: leftOfBars, Top: topOfBars - 6, Bottom: bottom,
	}
	if b.mark > 0 {
		d.Mark = leftOfBars + length(b.mark)
	}
	for i, v := range b.values {
		d.Bars = append(d.Bars, drawnBar{
			Name: v.name, Value: decimal(v.value), Ours: v.ours, Y: topOfBars + i*lineHeight, Length: length(v.value),
			End: leftOfBars + length(v.value),
		})
	}
	var out bytes.Buffer
	if err := picture.Execute(&out, d); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
