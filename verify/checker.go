package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/google/uuid"
)

// Config tells a Checker how to judge; its zero value works.
type Config struct {
	// Witnesses bounds the examples kept of each finding; totals are exact all the same. Defaults to 10.
	Witnesses int
	// Foreign lets messages arrive that no record says was enqueued, and only counts them: for topics that others
	// write to as well, or a journal that began later. Defaults to false: such a message is Uncommitted.
	Foreign bool
}

// Checker takes in a history record by record. It keeps about 150 bytes for a message, and each topic and key once. It
// is not for use by several goroutines at once.
type Checker struct {
	config   Config
	index    map[uuid.UUID]uint32
	messages []message
	routes   names[route]
	streams  names[string]
	copies   []delivery // but the first that came of each message
	faults   []fault
	records  int
}

// message is all that is known of one id.
type message struct {
	id          uuid.UUID
	committedAt int64 // nanoseconds since 1970, as all times here
	order       int64
	first       place
	route       uint32 // as committed
	outcome     outcome
	held        held
}

// arrived reports that some copy did.
func (m *message) arrived() bool { return m.first.stream != 0 }

// place is where a copy arrived.
type place struct {
	at, offset int64
	stream     uint32
	route      uint32
	keyless    bool // it is told that there was no key
	again      bool // handed out again by the broker, which shows arrival alone
}

type delivery struct {
	message uint32
	place
}

type fault struct {
	from, to int64
	bound    int
}

// outcome of the transactions that enqueued a message, the strongest of them.
type outcome uint8

const (
	unheard outcome = iota
	aborted
	unknown
	committed
)

// held is what became of a message in the outbox, as bits.
type held uint8

const (
	pending held = 1 << iota
	parked
	skipped
	discarded
)

type route struct{ topic, key string }

// NewChecker returns a Checker without records.
func NewChecker(config Config) *Checker {
	config.Witnesses = cmp.Or(config.Witnesses, 10)
	return &Checker{config: config, index: map[uuid.UUID]uint32{}}
}

// Check judges one history that is spread over any number of readers.
func Check(config Config, histories ...io.Reader) (*Report, error) {
	c := NewChecker(config)
	for i, h := range histories {
		for r, err := range Records(h) {
			if err == nil {
				err = c.Add(r)
			}
			if err != nil {
				return nil, fmt.Errorf("history %d: %w", i+1, err)
			}
		}
	}
	return c.Report(), nil
}

// Add takes in a record. It returns a [*RecordError] for one that says too little, and ErrContradiction for one that
// cannot be true beside those before it.
func (c *Checker) Add(r Record) error {
	if err := r.check(); err != nil {
		return err
	}
	c.records++
	if r.Kind == Fault {
		c.faults = append(c.faults, fault{nanos(r.From), nanos(r.To), r.Bound})
		return nil
	}
	n, err := c.find(r.ID)
	if err != nil {
		return err
	}
	m := &c.messages[n]
	switch r.Kind {
	case Committed:
		return c.enqueued(m, r, committed)
	case Unknown:
		return c.enqueued(m, r, unknown)
	case Aborted:
		m.outcome = max(m.outcome, aborted)
	case Delivered:
		c.delivered(n, r)
	case Pending:
		m.held |= pending
	case Parked:
		m.held |= parked
	case Skipped:
		m.held |= skipped
	case Discarded:
		m.held |= discarded
	}
	return nil
}

// find returns the number of a message in c.messages.
func (c *Checker) find(id uuid.UUID) (uint32, error) {
	if n, ok := c.index[id]; ok {
		return n, nil
	}
	if len(c.messages) == math.MaxUint32 {
		return 0, errors.New("verify: more messages than can be numbered; check them in parts")
	}
	n := uint32(len(c.messages))
	c.index[id] = n
	c.messages = append(c.messages, message{id: id})
	return n, nil
}

// enqueued notes how a transaction ended. Attempts under one id may differ in all but what was committed.
func (c *Checker) enqueued(m *message, r Record, o outcome) error {
	to := c.routes.number(route{r.Topic, r.Key})
	if o == committed && m.outcome == committed && (m.route != to || m.order != r.Order) {
		return fmt.Errorf("%w: message %s was committed twice, with another topic, key or order", ErrContradiction, r.ID)
	}
	if o >= m.outcome {
		m.outcome, m.route, m.order, m.committedAt = o, to, r.Order, nanos(r.At)
	}
	return nil
}

// delivered notes a copy. Which of them came first is decided once all are known.
func (c *Checker) delivered(n uint32, r Record) {
	m := &c.messages[n]
	p := place{
		at: nanos(r.At), offset: r.Offset, keyless: r.Keyless, again: r.Redelivered,
		stream: c.streams.number(r.Stream), route: c.routes.number(route{r.Topic, r.Key}),
	}
	switch {
	case !m.arrived():
		m.first = p
	case m.first.stream == p.stream && m.first.offset == p.offset: // read again: the earlier, and better known, counts
		m.first.at, m.first.again = min(m.first.at, p.at), m.first.again && p.again
	default:
		c.copies = append(c.copies, delivery{n, p})
	}
}

func nanos(t time.Time) int64 { return t.UnixNano() }

// names numbers values from 1, so that each is kept once.
type names[T comparable] struct {
	numbers map[T]uint32
	values  []T
}

func (n *names[T]) number(v T) uint32 {
	if i, ok := n.numbers[v]; ok {
		return i
	}
	if n.numbers == nil {
		n.numbers = map[T]uint32{}
	}
	n.values = append(n.values, v)
	n.numbers[v] = uint32(len(n.values))
	return n.numbers[v]
}

// name is the inverse of number; 0 is the zero value.
func (n *names[T]) name(i uint32) (v T) {
	if i == 0 {
		return v
	}
	return n.values[i-1]
}
