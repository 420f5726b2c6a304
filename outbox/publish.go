package outbox

import (
	"context"
	"fmt"
	"time"
)

// publish hands a claim to the publisher, wave by wave, and judges the results. What was claimed too late, under
// a lease that may be gone, is released unseen.
func (w *worker) publish(ctx context.Context, g grip, claim Claim) ([]Outcome, error) {
	claimed := claim.Messages
	results := make([]Result, len(claimed))
	if len(claimed) == 1 && claimed[0].Suspect && claimed[0].Crashes >= w.config.MaxCrashes {
		return []Outcome{crashed(claimed[0])}, nil
	}
	if w.fresh(g.since) {
		if err := w.publishWaves(ctx, claimed, results); err != nil {
			return nil, err
		}
	}
	outcomes := make([]Outcome, len(claimed))
	for i, c := range claimed {
		outcomes[i] = judge(c, results[i], w.config.policy(c.Topic), w.jitter)
	}
	return outcomes, nil
}

// publishWaves leaves the zero Result to messages behind a failed one of their key, and to all that are left when
// ctx ends, or when nobody has renewed the lease for so long that it might end during the next call.
func (w *worker) publishWaves(ctx context.Context, claimed []*Claimed, results []Result) error {
	wave, n := waves(claimed, w.config.Mode, w.keyOrdered)
	failed := make(map[string]bool)
	at, messages := make([]int, 0, len(claimed)), make([]*Message, 0, len(claimed))
	for now := 0; now < n && ctx.Err() == nil && w.fresh(w.renewed()); now++ {
		at, messages = at[:0], messages[:0]
		for i, c := range claimed {
			if wave[i] == now && !failed[c.Key] {
				at, messages = append(at, i), append(messages, c.Message)
			}
		}
		words, err := w.call(messages)
		if err != nil {
			return err
		}
		for j, i := range at {
			results[i] = words[j]
			if key := claimed[i].Key; key != "" && !words[j].Accepted() {
				failed[key] = true
			}
		}
	}
	return nil
}

// call is one call of Publish.
func (w *worker) call(messages []*Message) ([]Result, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	started := time.Now()
	results := w.publisher.Publish(w.hard, messages)
	took := time.Since(started)
	w.now.Calls = append(w.now.Calls, Call{len(messages), took})
	if len(results) != len(messages) {
		return nil, wrongLength(len(results), len(messages))
	}
	longest := w.config.MaxPublishDuration
	if longest > 0 && took > longest && w.hard.Err() == nil {
		return nil, fmt.Errorf("outbox: publisher took %v, MaxPublishDuration is %v: bound it, or raise that", took, longest)
	}
	return results, nil
}

func wrongLength(results, messages int) error {
	return fmt.Errorf("outbox: publisher returned %d results for %d messages: test it by publishertest", results, messages)
}
