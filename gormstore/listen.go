package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	listenBackoff    = 100 * time.Millisecond
	maxListenBackoff = 10 * time.Second
)

// errDeaf: this connection will never hear what other processes announce.
var errDeaf = errors.New("cannot hear other processes")

// listen passes on what other processes announce, until ctx ends. A connection that is lost is made again, and then
// all lanes are looked at, because nobody knows what was said meanwhile.
func (s *Store) listen(ctx context.Context) {
	a, ok := s.dialect.(announcer)
	if !ok {
		return
	}
	lost := 0
	for {
		err := a.attend(ctx, s, func() { s.heardAgain(ctx, &lost) }, s.heard)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errDeaf):
			s.deaf(ctx, err)
			return
		case lost == 0:
			s.log.WarnContext(ctx, "outbox listener was lost and is set up again", "error", err)
		}
		lost++
		if !rest(ctx, lost) {
			return
		}
	}
}

// heard passes on what others say.
func (s *Store) heard(words string) {
	if from, n := decodeNews(words); from != s.id && !n.empty() {
		s.wakers.signal(n)
	}
}

// heardAgain makes up for what was missed since the connection was lost.
func (s *Store) heardAgain(ctx context.Context, lost *int) {
	if *lost == 0 {
		return
	}
	s.log.InfoContext(ctx, "outbox listener is back", "tries", *lost)
	*lost = 0
	s.wakers.signal(news{all: true, freed: true})
}

// deaf says once why other processes are not heard.
func (s *Store) deaf(ctx context.Context, err error) {
	s.deafness.Do(func() {
		s.log.WarnContext(ctx, "outbox relay hears of other processes' commits by polling alone", "error", err)
	})
}

// rest waits before the next try, and reports whether ctx is still alive.
func rest(ctx context.Context, tries int) bool {
	d := min(listenBackoff<<min(tries-1, 10), maxListenBackoff)
	t := time.NewTimer(d/2 + rand.N(d/2))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// spare reports whether pool can do without a connection for as long as a relay runs.
func (s *Store) spare(pool *sql.DB) bool {
	need := 2 // the listener, and what renews leases
	if pool == s.pool {
		need = 3 // and what writes messages
	}
	most := pool.Stats().MaxOpenConnections
	return most == 0 || most >= need
}
