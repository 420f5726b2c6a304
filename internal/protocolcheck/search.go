package protocolcheck

import "fmt"

// Report is the result of a check.
type Report struct {
	States    int
	Steps     int
	Violation *Violation // nil if there is none
}

// Violation is a shortest way to break one or more invariants.
type Violation struct {
	Broken Invariant
	Trace  []string // one line for each step
}

// machine is what can be explored.
type machine[S comparable] interface {
	initial() S
	next(s *S) []step[S] // valid until the next call
	canonical(s *S) S    // the one that stands for s and its like
	isSettled(s *S) bool // nothing is left to be done
}

// step leads to another state.
type step[S comparable] struct {
	event  event
	to     S
	broken Invariant
	heals  bool // it may be counted on: no fault, no operator
}

// search explores breadth first, so that the first violation is one with a shortest trace.
type search[S comparable] struct {
	machine[S]
	watch  Invariant
	index  map[S]int32
	states []S
	parent []int32
	heals  []edge
	steps  int
}

// edge is a step that heals, from one state to another.
type edge struct{ from, to int32 }

// Check explores every state of c and returns the first violation of an invariant in watch. It returns an error if
// there are more than limit states.
func Check(c Scenario, watch Invariant, limit int) (Report, error) {
	return explore(newModel(c), watch, limit)
}

func explore[S comparable](m machine[S], watch Invariant, limit int) (Report, error) {
	s := &search[S]{machine: m, watch: watch, index: make(map[S]int32)}
	initial := m.initial()
	s.visit(m.canonical(&initial), -1)
	for at := int32(0); int(at) < len(s.states); at++ {
		if broken := s.expand(at); broken != 0 {
			return s.report(&Violation{Broken: broken, Trace: s.trace(at, broken)}), nil
		}
		if len(s.states) > limit {
			return s.report(nil), fmt.Errorf("explore %d states: the limit is %d", len(s.states), limit)
		}
	}
	if watch&NeverStuck != 0 {
		if at := s.firstStuck(); at >= 0 {
			return s.report(&Violation{Broken: NeverStuck, Trace: s.trace(at, 0)}), nil
		}
	}
	return s.report(nil), nil
}

func (s *search[S]) report(v *Violation) Report {
	return Report{States: len(s.states), Steps: s.steps, Violation: v}
}

// expand makes all steps from the state at index at, and returns what the first bad one breaks.
func (s *search[S]) expand(at int32) Invariant {
	from := s.states[at]
	for _, step := range s.next(&from) {
		s.steps++
		if broken := step.broken & s.watch; broken != 0 {
			return broken
		}
		to := s.visit(s.canonical(&step.to), at)
		if step.heals && s.watch&NeverStuck != 0 && to != at {
			s.heals = append(s.heals, edge{at, to})
		}
	}
	return 0
}

func (s *search[S]) visit(v S, parent int32) int32 {
	at, ok := s.index[v]
	if !ok {
		at = int32(len(s.states))
		s.index[v] = at
		s.states = append(s.states, v)
		s.parent = append(s.parent, parent)
	}
	return at
}

// firstStuck walks back from all states in which everything is settled, and returns the first state that it does not
// reach, or -1.
func (s *search[S]) firstStuck() int32 {
	before := s.predecessors()
	reached := make([]bool, len(s.states))
	var queue []int32
	for at := range s.states {
		if s.isSettled(&s.states[at]) {
			reached[at] = true
			queue = append(queue, int32(at))
		}
	}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range before(at) {
			if !reached[from] {
				reached[from] = true
				queue = append(queue, from)
			}
		}
	}
	for at, ok := range reached {
		if !ok {
			return int32(at)
		}
	}
	return -1
}

// predecessors sorts the healing edges by where they lead.
func (s *search[S]) predecessors() func(at int32) []int32 {
	start := make([]int32, len(s.states)+1)
	for _, e := range s.heals {
		start[e.to+1]++
	}
	for at := range s.states {
		start[at+1] += start[at]
	}
	from := make([]int32, len(s.heals))
	fill := append([]int32(nil), start[:len(s.states)]...)
	for _, e := range s.heals {
		from[fill[e.to]] = e.from
		fill[e.to]++
	}
	return func(at int32) []int32 { return from[start[at]:start[at+1]] }
}

// trace tells the way to the state at index at, and one step further to what breaks broken. It walks with the relays'
// names as they are at the beginning, although states on the way stand for their mirror images, too.
func (s *search[S]) trace(at int32, broken Invariant) []string {
	var path []int32
	for ; at > 0; at = s.parent[at] {
		path = append(path, at)
	}
	told := newStory()
	var lines []string
	now := s.initial()
	for i := len(path) - 1; i >= 0; i-- {
		for _, step := range s.next(&now) {
			if s.canonical(&step.to) == s.states[path[i]] {
				now = step.to
				lines = append(lines, told.tell(step.event))
				break
			}
		}
	}
	for _, step := range s.next(&now) {
		if step.broken&broken != 0 {
			return append(lines, told.tell(step.event))
		}
	}
	return lines
}
