package dashboard

import (
	"fmt"
	"strings"
	"time"
)

// chart is a line over time. Its coordinates are those of a box that the style sheet stretches.
type chart struct {
	Title   string
	Now     string // the latest value in words
	Known   bool   // the latest value is known
	Summary string // for who does not see the drawing
	Top     string // the value at the upper edge; "" if none is known
	Since   string // the time at the left edge
	Line    string // path data, as the others
	Area    string
	Gaps    string // where nothing is known
}

const (
	chartWidth  = 600.0
	chartHeight = 120.0
	chartSpan   = 5 * time.Minute // at least
)

// point is a value at a time, or that it is not known.
type point struct {
	at    time.Time
	value float64
	known bool
}

// measure is how values are written, and which of them make good upper edges.
type measure struct {
	format func(float64) string
	edges  []float64 // ascending; beyond the last, ten times as much
}

var (
	numbers = measure{func(v float64) string { return formatNumber(int(v + 0.5)) }, []float64{5, 10, 20, 50, 100}}
	rates   = measure{formatRate, []float64{1, 2, 5, 10, 20, 50, 100}}
	ages    = measure{
		func(v float64) string { return formatAge(time.Duration(v * float64(time.Second))) },
		[]float64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 6 * 3600, 24 * 3600, 48 * 3600, 240 * 3600},
	}
)

func formatRate(v float64) string {
	if v > 0 && v < 10 {
		return fmt.Sprintf("%.1f/s", v)
	}
	return formatNumber(int(v+0.5)) + "/s"
}

// edge is the smallest good upper edge that is not below v.
func (m measure) edge(v float64) float64 {
	for _, e := range m.edges {
		if v <= e {
			return e
		}
	}
	decade := m.edges[len(m.edges)-1]
	for decade*10 < v {
		decade *= 10
	}
	for _, step := range []float64{2, 5} {
		if v <= decade*step {
			return decade * step
		}
	}
	return decade * 10
}

// newChart draws points, oldest first.
func newChart(title string, points []point, now time.Time, m measure) chart {
	c := chart{Title: title, Now: "not known"}
	span := chartSpan
	if len(points) > 0 {
		span = max(span, now.Sub(points[0].at))
	}
	low, top, known := bounds(points)
	edge := m.edge(top)
	c.Since = formatAge(span.Round(time.Minute)) + " ago"
	if n := len(points); n > 0 && points[n-1].known {
		c.Known, c.Now = true, m.format(points[n-1].value)
	}
	c.Summary = fmt.Sprintf("%s: now %s", title, c.Now)
	if known {
		c.Top = m.format(edge)
		c.Summary += fmt.Sprintf("; in the last %s between %s and %s",
			formatAge(span.Round(time.Minute)), m.format(low), m.format(top))
	}
	c.draw(points, func(p point) (x, y float64) {
		return chartWidth * (1 - now.Sub(p.at).Seconds()/span.Seconds()), chartHeight * (1 - p.value/edge)
	})
	return c
}

func bounds(points []point) (low, top float64, known bool) {
	for _, p := range points {
		if !p.known {
			continue
		}
		if !known {
			low = p.value
		}
		low, top, known = min(low, p.value), max(top, p.value), true
	}
	return low, top, known
}

// draw makes a line of the known points that follow one another, and a gap of the time between two lines.
func (c *chart) draw(points []point, place func(point) (x, y float64)) {
	if len(points) > 0 {
		if first, _ := place(points[0]); first > 0 {
			c.addGap(0, first) // nobody looked
		}
	}
	for i := 0; i < len(points); {
		end := i
		for end < len(points) && points[end].known == points[i].known {
			end++
		}
		if points[i].known {
			c.addLine(points[i:end], place)
		} else {
			from, _ := place(points[max(0, i-1)])
			to := chartWidth
			if end < len(points) {
				to, _ = place(points[end])
			}
			c.addGap(from, to)
		}
		i = end
	}
}

func (c *chart) addGap(from, to float64) {
	c.Gaps += fmt.Sprintf("M%.1f 0H%.1fV%gH%.1fZ", from, to, chartHeight, from)
}

// addLine draws a lone point as a line of no length, which a round cap makes visible.
func (c *chart) addLine(points []point, place func(point) (x, y float64)) {
	var line strings.Builder
	for i, p := range points {
		x, y := place(p)
		if i == 0 {
			fmt.Fprintf(&line, "M%.1f %.1f", x, y)
		}
		fmt.Fprintf(&line, "L%.1f %.1f", x, y)
	}
	first, _ := place(points[0])
	last, _ := place(points[len(points)-1])
	c.Line += line.String()
	c.Area += line.String() + fmt.Sprintf("L%.1f %gL%.1f %gZ", last, chartHeight, first, chartHeight)
}
