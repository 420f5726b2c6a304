package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Config tunes a store. The zero value works.
type Config struct {
	// Lanes is the number of lanes. Defaults to 64.
	Lanes int
	// Enqueue bounds what is accepted.
	Enqueue outbox.EnqueueConfig
}

// Store holds messages in memory. It is safe for concurrent use.
type Store struct {
	config Config

	mu       sync.Mutex
	seq      int64
	turn     int
	messages map[uuid.UUID]*row
	lanes    []lane
	sessions map[uuid.UUID]*session
	claims   map[uuid.UUID]*claim
	wakers   map[chan []int]struct{}
	audit    []outbox.AuditEntry
	pauses   []outbox.Pause
}

var (
	_ outbox.Enqueuer     = (*Store)(nil)
	_ outbox.Transactor   = (*Store)(nil)
	_ outbox.Store        = (*Store)(nil)
	_ outbox.LaneRenewer  = (*Store)(nil)
	_ outbox.LaneReleaser = (*Store)(nil)
	_ outbox.Waker        = (*Store)(nil)
	_ outbox.Inspector    = (*Store)(nil)
	_ outbox.Backlogger   = (*Store)(nil)
	_ outbox.Pauser       = (*Store)(nil)
	_ outbox.Overseer     = (*Store)(nil)
)

// New returns an empty store.
func New(config Config) *Store {
	if config.Lanes == 0 {
		config.Lanes = 64
	}
	s := &Store{
		config:   config,
		messages: make(map[uuid.UUID]*row),
		lanes:    make([]lane, config.Lanes),
		sessions: make(map[uuid.UUID]*session),
		claims:   make(map[uuid.UUID]*claim),
		wakers:   make(map[chan []int]struct{}),
	}
	return s
}

// state is where a stored message stands.
type state int

const (
	ready     state = iota
	scheduled       // waits for its time, and holds nothing until then; once due, it is held like any other
	retrying        // waits for its time and holds its key
	suspect         // was in a recovered claim: claimed alone, and holds its key
	parked          // set aside, holds its key
	skipped         // set aside, its key goes on
)

// blocks reports whether nothing later of the key may be claimed.
func (s state) blocks() bool { return s == retrying || s == suspect || s == parked }

// row is a stored message. Its number is taken at enqueue, as a database sequence is, and not at commit.
type row struct {
	*outbox.Message
	seq       int64
	lane      int
	state     state
	due       time.Time
	attempts  int
	failures  int
	crashes   int
	uncertain bool
	class     outbox.Class
	err       string
	claimed   bool
}

type lane struct {
	owner uuid.UUID
	epoch int64
	rows  []*row // by seq
}

// add keeps rows in the order of their numbers, also when a lower number commits later.
func (l *lane) add(r *row) {
	i, _ := l.find(r)
	l.rows = slices.Insert(l.rows, i, r)
}

func (l *lane) remove(r *row) {
	switch i, ok := l.find(r); {
	case !ok:
	case i == 0: // the usual case, and the cheap one
		l.rows[0], l.rows = nil, l.rows[1:]
	default:
		l.rows = slices.Delete(l.rows, i, i+1)
	}
}

func (l *lane) find(r *row) (int, bool) {
	return slices.BinarySearchFunc(l.rows, r.seq, func(o *row, seq int64) int { return cmp.Compare(o.seq, seq) })
}

type session struct {
	relay   string
	started time.Time
	expires time.Time
	stopped bool
}

func (s *session) alive(now time.Time) bool { return !s.stopped && now.Before(s.expires) }

type claim struct {
	session uuid.UUID
	ids     []uuid.UUID
}

// Pending returns how many messages are stored that are neither delivered nor set aside.
func (s *Store) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.messages {
		if r.state != parked && r.state != skipped {
			n++
		}
	}
	return n
}

// Wake implements [outbox.Waker].
func (s *Store) Wake(ctx context.Context) <-chan []int {
	ch := make(chan []int, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakers[ch] = struct{}{}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.wakers, ch)
		close(ch)
	})
	return ch
}

// wake tells every subscriber that lanes have news; one that has not read the last word is told "any lane" as well.
func (s *Store) wake(lanes []int) {
	for ch := range s.wakers {
		select {
		case ch <- lanes:
		default:
			select {
			case <-ch:
			default:
			}
			ch <- nil // this goroutine is the only sender, under the lock
		}
	}
}
