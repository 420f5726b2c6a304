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
	all := 0
	for _, status := range []Status{StatusParked, StatusSkipped} {
		if f.Status != "" && f.Status != status {
			continue
		}
		f := f
		f.Status = status
		n, err := actOnPages(ctx, i, deed, act, f)
		all += n
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func actOnPages(ctx context.Context, i Inspector, deed Deed, act Act, f Filter) (all int, err error) {
	for after := int64(0); ; {
		page, err := i.Find(ctx, f, after, bulkPage)
		if err != nil || len(page) == 0 {
			return all, err
		}
		ids := make([]uuid.UUID, len(page))
		for n, r := range page {
			ids[n] = r.ID
		}
		n, err := deed(i, ctx, act, ids...)
		all += n
		if err != nil {
			return all, err
		}
		after = page[len(page)-1].Number
	}
}
