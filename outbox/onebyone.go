package outbox

import (
	"context"
	"sync"
)

// PublisherFunc is a publisher that sends one message at a time: a nil error means that the broker has it. Up to 16
// keys go side by side; see [PublishOneByOne] for what happens within one.
type PublisherFunc func(ctx context.Context, message *Message) error

// KeyOrdered is true: a key stops at its first failure.
func (PublisherFunc) KeyOrdered() bool { return true }

// Publish calls f for each message.
func (f PublisherFunc) Publish(ctx context.Context, messages []*Message) []Result {
	const sideBySide = 16
	return PublishOneByOne(ctx, messages, sideBySide, f)
}

// PublishOneByOne sends messages one by one: up to limit keys side by side, and a key in order. A key stops at its
// first failure, and everything stops when ctx ends; what was not sent then has the zero Result. It is for authors of
// publishers whose client knows no batches.
func PublishOneByOne(
	ctx context.Context, messages []*Message, limit int, send func(context.Context, *Message) error,
) []Result {
	results := make([]Result, len(messages))
	queue := make(chan []int)
	var workers sync.WaitGroup
	chains := byKey(messages)
	for range min(max(limit, 1), len(chains)) {
		workers.Go(func() {
			for chain := range queue {
				sendChain(ctx, messages, chain, results, send)
			}
		})
	}
	for _, chain := range chains {
		queue <- chain
	}
	close(queue)
	workers.Wait()
	return results
}

func sendChain(
	ctx context.Context, messages []*Message, chain []int, results []Result, send func(context.Context, *Message) error,
) {
	for _, i := range chain {
		if ctx.Err() != nil {
			return
		}
		if err := send(ctx, messages[i]); err != nil {
			results[i] = Failed(err)
			return
		}
		results[i] = Accepted
	}
}

// byKey returns the positions of the messages of each key, in their order; a message without a key stands alone.
func byKey(messages []*Message) [][]int {
	var chains [][]int
	at := make(map[string]int)
	for i, m := range messages {
		chain, seen := at[m.Key]
		if m.Key == "" || !seen {
			chain = len(chains)
			at[m.Key] = chain
			chains = append(chains, nil)
		}
		chains[chain] = append(chains[chain], i)
	}
	return chains
}
