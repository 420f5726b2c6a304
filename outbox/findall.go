package outbox

import (
	"context"
	"iter"
)

// findPage is how many messages FindAll reads at a time. They come without their payloads, but with their headers.
const findPage = 500

// FindAll returns the messages that match f and have one of statuses, in the order of their numbers and without their
// payloads. It reads page by page, so that any number of them takes little memory; what comes to match meanwhile may be
// among them or not, and one that was read may have changed by the time it is yielded. An error ends it, and is
// yielded last.
func FindAll(ctx context.Context, i Inspector, f Filter, statuses ...Status) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var places []*reading
		for _, status := range statuses {
			if f.Status == "" || f.Status == status {
				f := f
				f.Status, f.WithoutPayload = status, true
				places = append(places, &reading{Filter: f})
			}
		}
		for {
			next, err := lowest(ctx, i, places)
			switch {
			case err != nil:
				yield(Record{}, err)
				return
			case next == nil, !yield(next.take(), nil):
				return
			}
		}
	}
}

// lowest returns the place whose next message has the lowest number, or nil when all have ended.
func lowest(ctx context.Context, i Inspector, places []*reading) (next *reading, err error) {
	for _, p := range places {
		if err := p.fill(ctx, i); err != nil {
			return nil, err
		}
		if len(p.page) > 0 && (next == nil || p.page[0].Number < next.page[0].Number) {
			next = p
		}
	}
	return next, nil
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
	if r.page, err = i.Find(ctx, r.Filter, r.after, findPage); err != nil {
		return err
	}
	if r.ended = len(r.page) == 0; !r.ended {
		r.after = r.page[len(r.page)-1].Number
	}
	return nil
}

func (r *reading) take() Record {
	next := r.page[0]
	r.page = r.page[1:]
	return next
}
