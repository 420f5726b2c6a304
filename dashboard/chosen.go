package dashboard

import (
	"context"

	"github.com/postroom/postroom/outbox"
)

// chosen calls do with the messages that an act may change, a transaction's worth at a time and in the order of their
// numbers: those of ids if there are several, else those that the search finds.
func (d *Dashboard) chosen(
	ctx context.Context, s search, ids []string, deed string, do func([]outbox.Record) (more bool, err error),
) error {
	if len(ids) > 1 {
		rows, err := d.named(ctx, ids, deed)
		if err == nil {
			_, err = do(rows)
		}
		return err
	}
	var streams []*stream
	for _, status := range []outbox.Status{outbox.StatusParked, outbox.StatusSkipped} {
		if s.Status != "" && s.Status != status || !canChange(deed, status) {
			continue
		}
		of := s
		of.Filter.Status = status
		streams = append(streams, &stream{store: d.store, search: of})
	}
	for {
		rows, err := merge(ctx, streams)
		if err != nil || len(rows) == 0 {
			return err
		}
		if more, err := do(rows); err != nil || !more {
			return err
		}
	}
}

// stream is the messages of a search, read page by page.
type stream struct {
	store outbox.Inspector
	search
	after int64
	page  []outbox.Record // read and not taken
	over  bool
}

// fill reads on if nothing is left.
func (s *stream) fill(ctx context.Context) error {
	s.WithoutPayload = true
	for len(s.page) == 0 && !s.over {
		rows, err := s.store.Find(ctx, s.Filter, s.after, actPage)
		if err != nil {
			return err
		}
		for _, r := range rows {
			s.after = r.Number
			if s.matches(r) {
				s.page = append(s.page, r)
			}
		}
		s.over = len(rows) == 0
	}
	return nil
}

// merge takes the next messages of all streams together, by number.
func merge(ctx context.Context, streams []*stream) (rows []outbox.Record, err error) {
	for len(rows) < actPage {
		var first *stream
		for _, s := range streams {
			if err := s.fill(ctx); err != nil {
				return nil, err
			}
			if len(s.page) > 0 && (first == nil || s.page[0].Number < first.page[0].Number) {
				first = s
			}
		}
		if first == nil {
			break
		}
		rows, first.page = append(rows, first.page[0]), first.page[1:]
	}
	return rows, nil
}

func canChange(deed string, status outbox.Status) bool {
	return status == outbox.StatusParked || status == outbox.StatusSkipped && deed != "skip"
}

// named are the messages of ids that a deed can change.
func (d *Dashboard) named(ctx context.Context, ids []string, deed string) (rows []outbox.Record, err error) {
	for _, id := range ids[:min(len(ids), pageSize)] {
		f := outbox.Filter{WithoutPayload: true}
		if err := f.ID.UnmarshalText([]byte(id)); err != nil {
			return nil, badField("id", "Choose messages of the list.")
		}
		one, err := d.store.Find(ctx, f, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(one) == 1 && canChange(deed, one[0].Status) {
			rows = append(rows, one[0])
		}
	}
	return rows, nil
}
