package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/postroom/postroom/outbox"
)

// watches are what collections look at.
type watches struct {
	mu  sync.Mutex
	all []*watch
}

// watch is a store and those of its relays that are in this process.
type watch struct {
	relays  []*outbox.Relay
	lookout *lookout
}

// Watch exports how relays stand, and what store holds, until stop is called; stop waits for a look that runs. Give it
// the relays of this process, all of one store in one call.
//
// The store is looked at when metrics are collected, 30 seconds after the last look at the soonest, for at most 5
// seconds, and beside the collection, which waits a second for it. Of all processes that have relays, only the one
// whose relay leads looks: that which holds lane 0. A process looks always when it gives no relay, or when its own
// have ended or have lost their store, so that the age is told even when nobody relays.
func (t *Telemetry) Watch(store outbox.Store, relays ...*outbox.Relay) (stop func()) {
	w := &watch{relays: relays, lookout: &lookout{store: store, log: t.config.Logger}}
	t.watches.mu.Lock()
	defer t.watches.mu.Unlock()
	t.watches.all = append(t.watches.all, w)
	return func() { t.unwatch(w) }
}

func (t *Telemetry) unwatch(w *watch) {
	t.watches.mu.Lock()
	t.watches.all = slices.DeleteFunc(t.watches.all, func(one *watch) bool { return one == w })
	t.watches.mu.Unlock()
	w.lookout.stop()
}

func (w *watch) snapshots() []outbox.Snapshot {
	all := make([]outbox.Snapshot, len(w.relays))
	for i, r := range w.relays {
		all[i] = r.Snapshot()
	}
	return all
}

// observe is called by every collection.
func (t *Telemetry) observe(ctx context.Context, o metric.Observer) error {
	t.watches.mu.Lock()
	all := slices.Clone(t.watches.all)
	t.watches.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	var relays []outbox.Snapshot
	var sights []sight
	for _, w := range all {
		snapshots := w.snapshots()
		relays = append(relays, snapshots...)
		if !looks(snapshots) {
			w.lookout.forget()
			continue
		}
		sights = append(sights, w.lookout.sight(ctx))
	}
	t.observeRelays(o, relays)
	if len(sights) > 0 {
		t.observeStore(o, sights)
	}
	return nil
}

// looks reports whether it is for the process of these relays to look at their store: others do so while one of these
// works well and does not lead.
func looks(relays []outbox.Snapshot) bool {
	return !slices.ContainsFunc(relays, func(s outbox.Snapshot) bool { return works(s) && !s.StoreDown }) ||
		slices.ContainsFunc(relays, func(s outbox.Snapshot) bool { return s.Leads })
}

// works reports whether a relay runs.
func works(s outbox.Snapshot) bool {
	return s.State == outbox.StateReady || s.State == outbox.StateDegraded
}

// states are those that relays are counted by, also when there is none in one.
var states = []outbox.State{
	outbox.StateIdle, outbox.StateStarting, outbox.StateReady, outbox.StateDegraded, outbox.StateDraining,
	outbox.StateStopped, outbox.StateFailed,
}

// observeRelays tells what the relays of this process add up to.
func (t *Telemetry) observeRelays(o metric.Observer, relays []outbox.Snapshot) {
	var lanes, inFlight, store, publisher int64
	byState, policies, silence := make(map[outbox.State]int64), make(map[string]int64), time.Duration(-1)
	for _, s := range relays {
		byState[s.State]++
		policies[s.Policy]++
		lanes, inFlight = lanes+int64(s.Lanes), inFlight+int64(s.InFlight)
		store, publisher = store+one(s.StoreDown), publisher+one(s.PublisherDown)
		if works(s) && s.Lanes > 0 {
			silence = max(silence, time.Since(s.LastClaim))
		}
	}
	i := t.instruments
	for _, state := range states {
		o.ObserveInt64(i.relays, byState[state], t.with(stateKey.String(string(state))))
	}
	o.ObserveInt64(i.waiting, store, t.with(causeKey.String("store")))
	o.ObserveInt64(i.waiting, publisher, t.with(causeKey.String("publisher")))
	o.ObserveInt64(i.lanes, lanes, t.with())
	o.ObserveInt64(i.inFlight, inFlight, t.with())
	for policy := range policies {
		o.ObserveInt64(i.policy, 1, t.with(policyKey.String(policy)))
	}
	if silence >= 0 {
		o.ObserveFloat64(i.silence, silence.Seconds(), t.with())
	}
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
