package kafka

import (
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// errOpen stands for an answer that has not come yet.
var errOpen = errors.New("open")

// flight is one hand-over to the client: which of its records have an answer, and which one.
type flight struct {
	records []*kgo.Record
	done    chan struct{} // closed with the last answer

	mu   sync.Mutex
	errs []error // by record: errOpen, the error, or nil once accepted
	open int
}

func newFlight(records []*kgo.Record) *flight {
	f := &flight{records: records, done: make(chan struct{}), errs: make([]error, len(records)), open: len(records)}
	for i := range f.errs {
		f.errs[i] = errOpen
	}
	return f
}

// land takes the answer for record i.
func (f *flight) land(i int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs[i] = err
	if f.open--; f.open == 0 {
		close(f.done)
	}
}

func (f *flight) landed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open == 0
}

// answers returns the errors by record; those without an answer of the broker's get given as theirs. An answer that
// comes later changes nothing.
func (f *flight) answers(given error) []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := slices.Clone(f.errs)
	for i, err := range errs {
		if f.isOpen(i) || errors.Is(err, kgo.ErrClientClosed) {
			errs[i] = given
		}
	}
	return errs
}

// isOpen reports whether record i has no answer yet; f.mu is held.
func (f *flight) isOpen(i int) bool { return f.errs[i] == errOpen } //nolint:errorlint // never wrapped

// torn reports whether some records of a topic have failed while others have no answer. Before the flush that means
// that the client dropped some of them, and a later one of the same key may be among those that it kept. Records that
// were accepted by then are no sign of that: what is left of the flush before may have taken them along.
func (f *flight) torn() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	open, failed := make(map[string]bool), make(map[string]bool)
	for i, r := range f.records {
		switch {
		case f.isOpen(i):
			open[r.Topic] = true
		case f.errs[i] != nil:
			failed[r.Topic] = true
		}
		if open[r.Topic] && failed[r.Topic] {
			return true
		}
	}
	return false
}

// waits returns the topics, but for known ones, that have records without an answer.
func (f *flight) waits(known map[string]bool) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var topics []string
	for i, r := range f.records {
		if !known[r.Topic] && f.isOpen(i) && !slices.Contains(topics, r.Topic) {
			topics = append(topics, r.Topic)
		}
	}
	return topics
}
