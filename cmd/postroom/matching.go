package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

const (
	findBatch = 1000 // messages
	samples   = 10
)

// matching is what an order is about, in the order in which it was enqueued.
type matching struct {
	messages  []matched
	sample    []outbox.Record // the first of them
	unmatched []unmatchedJSON
}

// matched is what is remembered of a message, of which there may be many.
type matched struct {
	id     uuid.UUID
	number int64
	topic  string
}

// find looks for the messages that an order names or describes.
func (o *order) find(ctx context.Context, store *gormstore.Store, f outbox.Filter) (matching, error) {
	m := matching{unmatched: []unmatchedJSON{}}
	var err error
	if len(o.ids) > 0 {
		err = m.named(ctx, store, o.ids, o.on)
	} else {
		for _, status := range o.on {
			if err == nil && (f.Status == "" || f.Status == status) {
				f := f
				f.Status = status
				err = m.described(ctx, store, f)
			}
		}
	}
	slices.SortFunc(m.messages, func(a, b matched) int { return cmp.Compare(a.number, b.number) })
	slices.SortFunc(m.sample, func(a, b outbox.Record) int { return cmp.Compare(a.Number, b.Number) })
	m.sample = m.sample[:min(len(m.sample), samples)]
	return m, err
}

// named looks each id up, once.
func (m *matching) named(ctx context.Context, store *gormstore.Store, ids []uuid.UUID, on []outbox.Status) error {
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
			m.add(found, len(m.messages))
		}
	}
	return nil
}

// described reads all pages of a filter.
func (m *matching) described(ctx context.Context, store *gormstore.Store, f outbox.Filter) error {
	f.WithoutPayload = true
	for after, seen := int64(0), 0; ; {
		page, err := store.Find(ctx, f, after, findBatch)
		if err != nil || len(page) == 0 {
			return err
		}
		m.add(page, seen)
		seen += len(page)
		after = page[len(page)-1].Number
	}
}

// add remembers records, of which seen came before in their order.
func (m *matching) add(records []outbox.Record, seen int) {
	for i, r := range records {
		if seen+i < samples {
			m.sample = append(m.sample, r)
		}
		m.messages = append(m.messages, matched{r.ID, r.Number, r.Topic})
	}
}
