package dashboard

import (
	"context"
	"iter"

	"github.com/postroom/postroom/outbox"
)

// chosen returns the messages that an act may change, in the order of their numbers: those of ids if there are several,
// else those that the search finds. An error comes last.
func (d *Dashboard) chosen(ctx context.Context, s search, ids []string, deed string) iter.Seq2[outbox.Record, error] {
	if len(ids) > 1 {
		return d.named(ctx, ids, deed)
	}
	on := []outbox.Status{outbox.StatusParked}
	if canChange(deed, outbox.StatusSkipped) {
		on = append(on, outbox.StatusSkipped)
	}
	return func(yield func(outbox.Record, error) bool) {
		for r, err := range outbox.FindAll(ctx, d.store, s.Filter, on...) {
			if (err != nil || s.matches(r)) && !yield(r, err) {
				return
			}
		}
	}
}

func canChange(deed string, status outbox.Status) bool {
	return status == outbox.StatusParked || status == outbox.StatusSkipped && deed != "skip"
}

// named returns the messages of ids that a deed can change.
func (d *Dashboard) named(ctx context.Context, ids []string, deed string) iter.Seq2[outbox.Record, error] {
	return func(yield func(outbox.Record, error) bool) {
		for _, id := range ids[:min(len(ids), pageSize)] {
			f := outbox.Filter{WithoutPayload: true}
			if err := f.ID.UnmarshalText([]byte(id)); err != nil {
				yield(outbox.Record{}, badField("id", "Choose messages of the list."))
				return
			}
			one, err := d.store.Find(ctx, f, 0, 1)
			if err != nil {
				yield(outbox.Record{}, err)
				return
			}
			if len(one) == 1 && canChange(deed, one[0].Status) && !yield(one[0], nil) {
				return
			}
		}
	}
}
