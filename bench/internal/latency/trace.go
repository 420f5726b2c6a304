package latency

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/postroom/postroom/bench/internal/load"
)

// queued is a message that waits for its time.
type queued struct {
	load.Message
	number int // in the order of writing
}

// trace is what became of each message of a workload.
type trace struct {
	numbers map[int][]int // of the messages of each key
	checker *load.Checker
	all     chan struct{} // closed when all have arrived

	mu    sync.Mutex
	times []times
	left  int
	last  time.Time // when something came
}

// times of one message, each at its first time.
type times struct{ intended, committed, arrived time.Time }

// newTrace returns the messages of w for each of so many writers, and what will come of them. Messages of a key have
// one writer, so that they are written in order.
func newTrace(w load.Workload, writers int) (*trace, [][]queued, error) {
	t := &trace{
		numbers: map[int][]int{}, checker: load.NewChecker(w), all: make(chan struct{}),
		times: make([]times, w.Messages), left: w.Messages,
	}
	queues := make([][]queued, writers)
	number := 0
	for m, err := range w.All() {
		if err != nil {
			return nil, nil, err
		}
		key, _, err := load.Parse(m.Body)
		if err != nil {
			return nil, nil, err
		}
		t.numbers[key] = append(t.numbers[key], number)
		queues[key%writers] = append(queues[key%writers], queued{m, number})
		number++
	}
	return t, queues, nil
}

// begin notes when a message is to be written, commit that it was.
func (t *trace) begin(number int, intended time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times[number].intended = intended
}

func (t *trace) commit(number int) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times[number].committed = now
}

// arrive may come before commit: the database's answer to the writer may take longer than the way of the message.
func (t *trace) arrive(body []byte) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = now
	t.checker.Observe(body)
	key, nth, err := load.Parse(body)
	if err != nil || nth >= len(t.numbers[key]) {
		return
	}
	if at := &t.times[t.numbers[key][nth]].arrived; at.IsZero() {
		*at = now
		if t.left--; t.left == 0 {
			close(t.all)
		}
	}
}

// histogram holds how long each message took by some measure, in microseconds, without the first ones.
func (t *trace) histogram(warm int, took func(times) time.Duration) *hdrhistogram.Histogram {
	const lowest, highest, digits = 1, int64(time.Hour / time.Microsecond), 3
	h := hdrhistogram.New(lowest, highest, digits)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, at := range t.times[warm:] {
		if !at.arrived.IsZero() {
			_ = h.RecordValue(max(lowest, min(highest, took(at).Microseconds()))) // it is within the bounds
		}
	}
	return h
}

func (t *trace) latest() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// span is the time from the first intention to the last arrival.
func (t *trace) span() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first, last time.Time
	for _, at := range t.times {
		if first.IsZero() || at.intended.Before(first) {
			first = at.intended
		}
		if at.arrived.After(last) {
			last = at.arrived
		}
	}
	return last.Sub(first)
}
