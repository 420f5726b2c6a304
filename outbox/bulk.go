package outbox

import (
	"context"

	"github.com/google/uuid"
)

const bulkPage = 100 // messages of one transaction

// Deed is Inspector.Requeue, Inspector.Discard or Inspector.Skip.
type Deed func(i Inspector, ctx context.Context, act Act, ids ...uuid.UUID) (int, error)

// ActOnAll does deed to all parked and skipped messages that match f, in the order of their numbers, as in
// ActOnAll(ctx, store, Inspector.Requeue, act, f). It takes a transaction for a hundred of them, so relays are never
// held up for long, and messages that are parked meanwhile may be included or not. It returns how many messages were
// changed, also with an error; it can be called again to do the rest. Messages of another status are never changed.
func ActOnAll(ctx context.Context, i Inspector, deed Deed, act Act, f Filter) (int, error) {
	if err := act.Check(); err != nil {
		return 0, err
	}
	var places []*reading
	for _, status := range []Status{StatusParked, StatusSkipped} {
		if f.Status == "" || f.Status == status {
			f := f
			f.Status, f.WithoutPayload = status, true
			places = append(places, &reading{Filter: f})
		}
	}
	for all := 0; ; {
		ids, err := nextPage(ctx, i, places)
		if err != nil || len(ids) == 0 {
			return all, err
		}
		n, err := deed(i, ctx, act, ids...)
		all += n
		if err != nil {
			return all, err
		}
	}
}

// nextPage merges what is read from places by number.
func nextPage(ctx context.Context, i Inspector, places []*reading) (ids []uuid.UUID, err error) {
	for len(ids) < bulkPage {
		var next *reading
		for _, p := range places {
			if err := p.fill(ctx, i); err != nil {
				return nil, err
			}
			if len(p.page) > 0 && (next == nil || p.page[0].Number < next.page[0].Number) {
				next = p
			}
		}
		if next == nil {
			break
		}
		ids = append(ids, next.page[0].ID)
		next.page = next.page[1:]
	}
	return ids, nil
}

// reading goes through what matches a filter.
type reading struct {
	Filter
	page  []Record // read and not yet taken
	after int64
	ended bool
}

// fill reads on when all that was read is taken.
func (r *reading) fill(ctx context.Context, i Inspector) (err error) {
	if len(r.page) > 0 || r.ended {
		return nil
	}
	if r.page, err = i.Find(ctx, r.Filter, r.after, bulkPage); err != nil {
		return err
	}
	if r.ended = len(r.page) == 0; !r.ended {
		r.after = r.page[len(r.page)-1].Number
	}
	return nil
}
