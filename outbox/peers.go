package outbox

import (
	"fmt"
	"hash/fnv"
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
	if !reflect.ValueOf(r.store).Comparable() {
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

// rule is a part of the configuration that decides the fate or the order of a message.
type rule struct {
	field string
	value any
}

// rules are those of a relay; pace and size may differ.
func (c RelayConfig) rules() []rule {
	return []rule{
		{"Mode", c.Mode},
		{"Policy", c.Policy},
		{"Topics", c.Topics},
		{"MaxCrashes", c.MaxCrashes},
		{"Lease", c.Lease},
	}
}

// digest is the same for relays that decide alike, in whatever process.
func (c RelayConfig) digest() string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%+v", c.rules()) // which sorts the keys of maps
	return fmt.Sprintf("%08x", h.Sum32())
}

func samePolicy(a, b RelayConfig) error {
	others := b.rules()
	for i, one := range a.rules() {
		if !reflect.DeepEqual(one.value, others[i].value) {
			return &FieldError{
				Field: one.field, Code: CodeConflict,
				Hint: fmt.Sprintf("another relay of this store runs with %v, this one has %v: give them the same",
					others[i].value, one.value),
			}
		}
	}
	return nil
}
