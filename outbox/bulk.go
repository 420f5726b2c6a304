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
func ActOnAll(ctx context.Context, i Inspector, deed Deed, act Act, f Filter) (all int, err error) {
	if err := act.Check(); err != nil {
		return 0, err
	}
	ids := make([]uuid.UUID, 0, bulkPage)
	do := func() error {
		if len(ids) == 0 {
			return nil
		}
		n, err := deed(i, ctx, act, ids...)
		all, ids = all+n, ids[:0]
		return err
	}
	for r, err := range FindAll(ctx, i, f, StatusParked, StatusSkipped) {
		if err != nil {
			return all, err
		}
		if ids = append(ids, r.ID); len(ids) == bulkPage {
			if err := do(); err != nil {
				return all, err
			}
		}
	}
	err = do()
	return all, err
}
