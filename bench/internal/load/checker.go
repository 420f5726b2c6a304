package load

import (
	"fmt"
	"strconv"
)

// Verdict is what became of a workload, counted at the broker.
type Verdict struct {
	Delivered  int `json:"delivered"`  // messages that arrived, each counted once
	Missing    int `json:"missing"`    // messages that did not
	Duplicates int `json:"duplicates"` // further copies of those that did
	Misordered int `json:"misordered"` // messages whose first copy came after that of a later one of their key
	Foreign    int `json:"foreign"`    // what is not of this workload
}

// Lossy reports whether a message is missing.
func (v Verdict) Lossy() bool { return v.Missing > 0 }

// Ordered reports whether the first copies came in order within each key.
func (v Verdict) Ordered() bool { return v.Misordered == 0 }

// Add returns the sum of two verdicts.
func (v Verdict) Add(o Verdict) Verdict {
	return Verdict{
		Delivered: v.Delivered + o.Delivered, Missing: v.Missing + o.Missing,
		Duplicates: v.Duplicates + o.Duplicates, Misordered: v.Misordered + o.Misordered,
		Foreign: v.Foreign + o.Foreign,
	}
}

// String names what is wrong, or says ordered.
func (v Verdict) String() string {
	text := "ordered"
	if !v.Ordered() {
		text = fmt.Sprintf("UNORDERED (%d)", v.Misordered)
	}
	if v.Lossy() {
		text = fmt.Sprintf("LOSSY (%d), %s", v.Missing, text)
	}
	if v.Duplicates > 0 {
		text += fmt.Sprintf(", %d duplicates", v.Duplicates)
	}
	if v.Foreign > 0 {
		text += fmt.Sprintf(", %d FOREIGN", v.Foreign)
	}
	return text
}

// Checker holds what arrives against a workload. A key's messages are to be given in the order of their arrival.
type Checker struct {
	total int
	keys  map[int]*arrivals
	seen  Verdict
}

// arrivals is what came of one key.
type arrivals struct {
	came    map[int]bool
	highest int
}

// NewChecker returns a checker of what came of w.
func NewChecker(w Workload) *Checker {
	return &Checker{total: w.Messages, keys: make(map[int]*arrivals, w.Keys)}
}

// Observe takes the body of the next message that arrived.
func (c *Checker) Observe(body []byte) {
	key, nth, err := Parse(body)
	if err != nil {
		c.seen.Foreign++
		return
	}
	a, ok := c.keys[key]
	if !ok {
		a = &arrivals{came: map[int]bool{}, highest: -1}
		c.keys[key] = a
	}
	if a.came[nth] {
		c.seen.Duplicates++
		return
	}
	a.came[nth] = true
	c.seen.Delivered++
	if nth < a.highest {
		c.seen.Misordered++
	}
	a.highest = max(a.highest, nth)
}

// Complete reports whether every message has arrived.
func (c *Checker) Complete() bool { return c.seen.Delivered >= c.total }

// Verdict counts what has arrived so far.
func (c *Checker) Verdict() Verdict {
	v := c.seen
	v.Missing = max(0, c.total-v.Delivered)
	return v
}

// Parse reads the number of the key of a body, and which of that key's messages it is, from 0.
func Parse(b []byte) (key, nth int, err error) {
	if len(b) < minSize-2 || b[8] != ' ' || b[17] != ' ' {
		return 0, 0, fmt.Errorf("read a body of %d bytes: it has no numbers", len(b))
	}
	if key, err = strconv.Atoi(string(b[:8])); err != nil {
		return 0, 0, fmt.Errorf("read the key of a body: %w", err)
	}
	if nth, err = strconv.Atoi(string(b[9:17])); err != nil {
		return 0, 0, fmt.Errorf("read the number of a body: %w", err)
	}
	return key, nth, nil
}
