package verify

import (
	"cmp"
	"slices"
)

// settle decides which copy of each message came first and leaves the others in c.copies: within a stream the one of
// the smallest offset, between streams the one that came earlier. Copies read twice go, and so do those that the broker
// handed out again, unless they alone show that the message arrived.
func (c *Checker) settle() {
	slices.SortFunc(c.copies, func(a, b delivery) int { return cmp.Compare(a.message, b.message) })
	var left []delivery
	for from := 0; from < len(c.copies); {
		to := from
		for to < len(c.copies) && c.copies[to].message == c.copies[from].message {
			to++
		}
		m := &c.messages[c.copies[from].message]
		places := []place{m.first}
		for _, d := range c.copies[from:to] {
			places = append(places, d.place)
		}
		places = distinct(places)
		first := firstOf(places)
		for i, p := range places {
			if i != first {
				left = append(left, delivery{c.copies[from].message, p})
			}
		}
		m.first = places[first]
		from = to
	}
	c.copies = left
}

// distinct returns the places by stream and offset, each once.
func distinct(places []place) []place {
	if !slices.ContainsFunc(places, func(p place) bool { return !p.again }) {
		return []place{slices.MinFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })}
	}
	places = slices.DeleteFunc(places, func(p place) bool { return p.again })
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.offset, b.offset), cmp.Compare(a.at, b.at))
	})
	return slices.CompactFunc(places, func(a, b place) bool { return a.stream == b.stream && a.offset == b.offset })
}

// firstOf returns the index of the earliest among those that are first in their stream.
func firstOf(places []place) int {
	first := 0
	for i, p := range places {
		if i > 0 && p.stream != places[i-1].stream && p.at < places[first].at {
			first = i
		}
	}
	return first
}
