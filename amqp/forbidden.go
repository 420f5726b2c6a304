package amqp

import (
	"sync"
	"time"
)

// forbiddenPause is when messages of a route that the user may not write to are tried again. The refusal is about
// neither the message nor the broker, so nothing is parked and other routes go on.
const forbiddenPause = 5 * time.Second

// forbidden remembers the routes that the broker refused with a 403, because it closes the channel over each try, and
// what else is on its way there has to go out twice. Within the pause nothing of them is sent; then one message is,
// alone.
type forbidden struct {
	mu     sync.Mutex
	routes map[route]refusal // a route without key is a whole exchange
}

type refusal struct {
	err   error
	until time.Time
}

// add takes note of a refusal.
func (f *forbidden) add(r route, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.routes == nil || len(f.routes) >= maxExchanges {
		f.routes = map[route]refusal{}
	}
	f.routes[r] = refusal{err: err, until: time.Now().Add(forbiddenPause)}
}

// recall returns the route that r was refused under, if it was, and the error to answer with at once: nil when it is
// time to try again.
func (f *forbidden) recall(r route) (under route, found bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, under := range []route{{exchange: r.exchange}, r} {
		if was, ok := f.routes[under]; ok {
			if time.Now().Before(was.until) {
				return under, true, was.err
			}
			return under, true, nil
		}
	}
	return route{}, false, nil
}

// forget is for a route that took a message again.
func (f *forbidden) forget(r route) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.routes, r)
}

// try sends group: first what no refusal is known of, then one message of each route that was refused a while ago, and
// the rest of the route if that was taken.
func (c *call) try(group []*parcel) {
	others := make([]*parcel, 0, len(group))
	again := map[route][]*parcel{}
	for _, p := range group {
		under, found, err := c.p.forbidden.recall(p.route)
		switch {
		case !found:
			others = append(others, p)
		case err != nil:
			c.fail(p, err)
		default:
			again[under] = append(again[under], p)
		}
	}
	c.send(others)
	for under, parcels := range again {
		c.send(parcels[:1])
		if c.results[parcels[0].index].Accepted() {
			c.p.forbidden.forget(under)
		}
		c.send(parcels[1:])
	}
}
