package watermilladapter

import (
	"context"
	"sync"

	"github.com/postroom/postroom/outbox"
)

type sendFunc func(ctx context.Context, m *outbox.Message) error

// publishByKey sends messages one by one: keys side by side, at most limit at a time, and a key in order. A key
// stops at its first failure and everything stops when ctx ends; what was not sent then has the zero Result.
func publishByKey(ctx context.Context, messages []*outbox.Message, limit int, send sendFunc) []outbox.Result {
	results := make([]outbox.Result, len(messages))
	queue := make(chan []int)
	var workers sync.WaitGroup
	chains := byKey(messages)
	for range min(limit, len(chains)) {
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

func sendChain(ctx context.Context, messages []*outbox.Message, chain []int, results []outbox.Result, send sendFunc) {
	for _, i := range chain {
		if ctx.Err() != nil {
			return
		}
		if err := send(ctx, messages[i]); err != nil {
			results[i] = outbox.Failed(err)
			return
		}
		results[i] = outbox.Accepted
	}
}

// byKey returns the positions of the messages of each key, in their order; a message without a key stands alone.
func byKey(messages []*outbox.Message) [][]int {
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
