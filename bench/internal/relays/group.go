package relays

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/bench/internal/subject"
)

// group is some relays on one database.
type group struct {
	processes []*process
	store     *subject.Store
}

// open starts n relays one after the other, and waits until each has its share of the lanes.
func open(
	ctx context.Context, n int, name string, site subject.Site, lease time.Duration, settled func(n int),
) (g *group, err error) {
	s, err := subject.OpenStore(ctx, site)
	if err != nil {
		return nil, err
	}
	g = &group{store: s}
	for range n {
		p, err := start(ctx, name, site, lease, settled)
		if err != nil {
			return nil, errors.Join(err, g.close())
		}
		g.processes = append(g.processes, p)
	}
	if err := g.shared(ctx); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// shared waits until the relays hold all lanes, none of them more than one more than another.
func (g *group) shared(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		relays, held, apart, err := g.lanes(ctx)
		if err == nil && relays == len(g.processes) && held == subject.Lanes && apart <= 1 {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, fmt.Errorf("wait for fair shares: %d of %d relays hold %d lanes, shares differ by %d",
				relays, len(g.processes), held, apart))
		}
	}
}

// lanes returns how many relays live, how many lanes they hold, and how many more the richest has than the poorest.
func (g *group) lanes(ctx context.Context) (relays, held, apart int, err error) {
	const read = `SELECT count(*), coalesce(sum(n), 0), coalesce(max(n) - min(n), 0) FROM (
		SELECT count(l.lane) AS n FROM outbox_sessions s LEFT JOIN outbox_lanes l ON l.owner = s.id
		WHERE s.stopped_at IS NULL AND s.expires_at > clock_timestamp() GROUP BY s.id) shares`
	err = g.store.Pool.QueryRowContext(ctx, read).Scan(&relays, &held, &apart)
	return relays, held, apart, err
}

// close ends those that are left.
func (g *group) close() error {
	var errs []error
	for _, p := range g.processes {
		if !p.gone() {
			errs = append(errs, p.stop())
		}
	}
	return errors.Join(append(errs, g.store.Close())...)
}
