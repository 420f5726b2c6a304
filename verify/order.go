package verify

import (
	"cmp"
	"slices"
)

// reorders finds messages that arrived first after a later one of their key, and those that the outbox still holds
// though a later one arrived. Where a key's first copies lie in several streams, each stream is judged by itself.
func (c *Checker) reorders(found func(late, before uint32)) {
	var arrived, waiting []uint32
	for i := range c.messages {
		switch m := &c.messages[i]; {
		case !c.ordered(m):
		case m.arrived() && !m.first.again:
			arrived = append(arrived, uint32(i))
		case !m.arrived() && m.outcome == committed && m.held != 0:
			waiting = append(waiting, uint32(i))
		}
	}
	slices.SortFunc(arrived, func(a, b uint32) int {
		x, y := &c.messages[a], &c.messages[b]
		return cmp.Or(cmp.Compare(x.route, y.route), cmp.Compare(x.first.stream, y.first.stream),
			cmp.Compare(x.first.offset, y.first.offset))
	})
	last := map[uint32]uint32{} // by route, the arrived message of the highest order, for what waits
	var highest uint32          // in this route and stream
	for i, n := range arrived {
		m := &c.messages[n]
		if top := &c.messages[highest]; i == 0 || top.route != m.route || top.first.stream != m.first.stream {
			highest = n
		}
		switch top := &c.messages[highest]; {
		case m.order < top.order:
			found(n, highest)
		default:
			highest = n
		}
		if len(waiting) > 0 {
			if l, ok := last[m.route]; !ok || c.messages[l].order < m.order {
				last[m.route] = n
			}
		}
	}
	for _, n := range waiting {
		m := &c.messages[n]
		if l, ok := last[m.route]; ok && m.order < c.messages[l].order {
			found(n, l)
		}
	}
}

// scattered counts keys whose messages arrived first in several streams.
func (c *Checker) scattered() (n int) {
	const several = 0
	streams := map[uint32]uint32{} // by route
	for i := range c.messages {
		m := &c.messages[i]
		if !c.ordered(m) || !m.arrived() || m.first.again {
			continue
		}
		switch stream, known := streams[m.route]; {
		case !known:
			streams[m.route] = m.first.stream
		case stream != several && stream != m.first.stream:
			streams[m.route] = several
			n++
		}
	}
	return n
}

// ordered reports that m has a place in the order of its key. One that was skipped or discarded has left it.
func (c *Checker) ordered(m *message) bool {
	return m.outcome >= unknown && m.order != 0 && m.held&(skipped|discarded) == 0 && c.routes.name(m.route).key != ""
}
