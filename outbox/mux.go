package outbox

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Mux is a publisher that routes by Message.Transport; the name "" is the default transport. A message of a transport
// that it does not have waits as [Unavailable], with [ErrUnknownTransport]. While one transport is down the others go
// on, for a relay that is given the Mux itself: what wraps publishers goes inside.
type Mux map[string]Publisher

// KeyOrdered reports whether every member keeps the order of a key.
func (m Mux) KeyOrdered() bool {
	for _, p := range m {
		if !KeyOrdered(p) {
			return false
		}
	}
	return true
}

// Publish hands each message to its transport's publisher, the transports side by side.
func (m Mux) Publish(ctx context.Context, messages []*Message) []Result {
	results := make([]Result, len(messages))
	parts := make(map[string][]int)
	for i, msg := range messages {
		parts[msg.Transport] = append(parts[msg.Transport], i)
	}
	var wg sync.WaitGroup
	for transport, part := range parts {
		wg.Go(func() { m.publishPart(ctx, transport, messages, part, results) })
	}
	wg.Wait()
	return results
}

// publishPart publishes the messages at the positions of part, which all leave by one transport.
func (m Mux) publishPart(ctx context.Context, transport string, messages []*Message, part []int, results []Result) {
	words := m.words(ctx, transport, messages, part)
	for j, i := range part {
		results[i] = words[j]
	}
}

func (m Mux) words(ctx context.Context, transport string, messages []*Message, part []int) []Result {
	p := m[transport]
	if p == nil {
		err := fmt.Errorf("%w: %q", ErrUnknownTransport, transport)
		return slices.Repeat([]Result{Failed(Unavailable(err))}, len(part))
	}
	own := make([]*Message, len(part))
	for j, i := range part {
		own[j] = messages[i]
	}
	words := p.Publish(ctx, own)
	if len(words) != len(own) {
		// Nobody can tell which word is whose, so the broker may have each of them.
		err := fmt.Errorf("transport %q: %w", transport, wrongLength(len(words), len(own)))
		return slices.Repeat([]Result{Failed(Unknown(err))}, len(part))
	}
	return words
}

// brokers numbers the publishers by transport, and returns how many there are: one may have several names.
func (m Mux) brokers() (numbers map[string]int, n int) {
	numbers = make(map[string]int, len(m))
	var distinct []Publisher
	for transport, p := range m {
		if p == nil {
			continue
		}
		i := slices.IndexFunc(distinct, func(o Publisher) bool { return isSame(o, p) })
		if i < 0 {
			i, distinct = len(distinct), append(distinct, p)
		}
		numbers[transport] = i
	}
	return numbers, len(distinct)
}

// isSame compares two publishers; a function or another value that cannot be compared is nobody else.
func isSame(a, b Publisher) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
