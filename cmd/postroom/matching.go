package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

const samples = 10 // messages that are shown of those that match

// matching is what an order is about, in the order in which it was enqueued.
type matching struct {
	messages  []matched
	sample    []outbox.Record // the first of them
	unmatched []unmatchedJSON
}

// matched is what is remembered of a message, of which there may be many.
type matched struct {
	id    uuid.UUID
	topic string
}

// find looks for the messages that an order names or describes.
func (o *order) find(ctx context.Context, store *gormstore.Store, f outbox.Filter) (matching, error) {
	m := matching{unmatched: []unmatchedJSON{}}
	if len(o.ids) > 0 {
		err := m.named(ctx, store, o.ids, o.on)
		return m, err
	}
	for r, err := range outbox.FindAll(ctx, store, f, o.on...) {
		if err != nil {
			return m, err
		}
		m.add(r)
	}
	return m, nil
}

// named looks each id up, once.
func (m *matching) named(ctx context.Context, store *gormstore.Store, ids []uuid.UUID, on []outbox.Status) error {
	var records []outbox.Record
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		found, err := store.Find(ctx, outbox.Filter{ID: id, WithoutPayload: true}, 0, 1)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			m.unmatched = append(m.unmatched, unmatchedJSON{ID: id})
		case !slices.Contains(on, found[0].Status):
			m.unmatched = append(m.unmatched, unmatchedJSON{id, found[0].Status})
		default:
			records = append(records, found[0])
		}
	}
	slices.SortFunc(records, func(a, b outbox.Record) int { return cmp.Compare(a.Number, b.Number) })
	for _, r := range records {
		m.add(r)
	}
	return nil
}

func (m *matching) add(r outbox.Record) {
	if len(m.sample) < samples {
		m.sample = append(m.sample, r)
	}
	m.messages = append(m.messages, matched{r.ID, r.Topic})
}
