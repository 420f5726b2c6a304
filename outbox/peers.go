package outbox

import (
	"fmt"
	"reflect"
	"sync"
)

// peers are the relays of this process that run, by their store. Relays of one store must decide alike, or a
// message's fate would depend on who claims it.
var peers = struct {
	sync.Mutex
	of map[Store][]*Relay
}{of: make(map[Store][]*Relay)}

// join refuses a relay whose policy differs from that of one that already runs on its store, and returns what takes
// it off the list again.
func (r *Relay) join() (leave func(), err error) {
	if !reflect.TypeOf(r.store).Comparable() {
		return func() {}, nil // a store that is a value is nobody else's
	}
	peers.Lock()
	defer peers.Unlock()
	for _, peer := range peers.of[r.store] {
		if err := samePolicy(r.config, peer.config); err != nil {
			return nil, err
		}
	}
	peers.of[r.store] = append(peers.of[r.store], r)
	return r.leave, nil
}

func (r *Relay) leave() {
	peers.Lock()
	defer peers.Unlock()
	var left []*Relay
	for _, peer := range peers.of[r.store] {
		if peer != r {
			left = append(left, peer)
		}
	}
	if peers.of[r.store] = left; len(left) == 0 {
		delete(peers.of, r.store)
	}
}

// samePolicy compares what decides the fate and the order of a message; pace and size may differ.
func samePolicy(a, b RelayConfig) error {
	for _, f := range []struct {
		field    string
		one, two any
	}{
		{"Mode", a.Mode, b.Mode},
		{"Policy", a.Policy, b.Policy},
		{"Topics", a.Topics, b.Topics},
		{"MaxCrashes", a.MaxCrashes, b.MaxCrashes},
		{"Lease", a.Lease, b.Lease},
	} {
		if !reflect.DeepEqual(f.one, f.two) {
			return &FieldError{
				Field: f.field, Code: CodeConflict,
				Hint: fmt.Sprintf("another relay of this store runs with %v, this one has %v: give them the same", f.two, f.one),
			}
		}
	}
	return nil
}
