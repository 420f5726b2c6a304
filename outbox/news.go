package outbox

import (
	"slices"
	"sync"
)

// news is the lanes in which something may have come up since somebody last looked, and wakes everyone who waits for
// some. Whoever takes the news before looking for work cannot miss any.
type news struct {
	*bell
	mu    sync.Mutex
	lanes []int // ascending; nil stands for any
}

func newNews() *news { return &news{bell: newBell(), lanes: []int{}} }

// add tells of lanes; nil stands for any.
func (n *news) add(lanes []int) {
	n.merge(lanes)
	n.ring()
}

func (n *news) merge(lanes []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if lanes == nil || n.lanes == nil {
		n.lanes = nil
		return
	}
	n.lanes = slices.Concat(n.lanes, lanes)
	slices.Sort(n.lanes)
	n.lanes = slices.Compact(n.lanes)
}

// take returns the lanes, nil for any, and a channel that is closed when more has come. What comes in between may be
// in both.
func (n *news) take() ([]int, <-chan struct{}) {
	more := n.next()
	n.mu.Lock()
	defer n.mu.Unlock()
	lanes := n.lanes
	n.lanes = []int{}
	return lanes, more
}

// names reports whether news that nobody has taken yet is of lane.
func (n *news) names(lane int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lanes == nil || slices.Contains(n.lanes, lane)
}
