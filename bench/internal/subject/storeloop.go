package subject

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/outbox"
)

// storeLoop is the store alone: four workers claim and settle, without a relay and a broker.
type storeLoop struct {
	Site
	store *Store
}

func openStoreLoop(ctx context.Context, site Site) (Subject, error) {
	s, err := OpenStore(ctx, site)
	if err != nil {
		return nil, err
	}
	return &storeLoop{Site: site, store: s}, nil
}

func (l *storeLoop) Fill(ctx context.Context) error { return l.store.Fill(ctx, l.Site) }

// Drain ends when all messages have been deleted.
func (l *storeLoop) Drain(ctx context.Context) error {
	session := uuid.New()
	held, err := l.store.AcquireLanes(ctx, outbox.LaneRequest{Session: session, Relay: "bench", Lease: time.Hour})
	if err != nil {
		return err
	}
	if len(held.Held) != Lanes {
		return fmt.Errorf("acquire lanes: %d of %d", len(held.Held), Lanes)
	}
	l.Progress.Begin()
	defer l.Progress.End()
	return eachWorker(ctx, l.Site, newDiscard, func(ctx context.Context, worker int, _ sender) error {
		request := outbox.ClaimRequest{Session: session, Worker: worker, Limit: batch, Bytes: BatchBytes}
		for _, lease := range held.Held {
			if lease.Lane%Workers == worker {
				request.Lanes = append(request.Lanes, lease)
			}
		}
		return l.work(ctx, request)
	})
}

// work claims and settles until nothing is left in its lanes.
func (l *storeLoop) work(ctx context.Context, request outbox.ClaimRequest) error {
	for {
		request.Token = uuid.New()
		claim, err := l.store.Claim(ctx, request)
		if err != nil || len(claim.Messages) == 0 {
			return err
		}
		outcomes := make([]outbox.Outcome, len(claim.Messages))
		for i, m := range claim.Messages {
			outcomes[i] = outbox.Outcome{Claimed: m, Verdict: outbox.Delivered}
		}
		n, err := l.store.Settle(ctx, claim, outcomes)
		if err != nil {
			return err
		}
		l.Progress.Add(n)
	}
}

const heldKey = "held"

// Hold puts n messages of one key into the outbox, and parks the first of them.
func (l *storeLoop) Hold(ctx context.Context, n int) error {
	for first := 0; first < n; first += fillBatch {
		messages := make([]load.Message, min(fillBatch, n-first))
		for i := range messages {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			messages[i] = load.Message{ID: id, Key: heldKey, Body: make([]byte, l.Load.Size)}
		}
		if err := l.store.put(ctx, "", messages); err != nil {
			return err
		}
	}
	return inTransaction(ctx, l.store.Pool, `UPDATE outbox_messages SET state = 3 WHERE id = (
		SELECT id FROM outbox_messages WHERE key = '`+heldKey+`' ORDER BY seq LIMIT 1)`,
		`INSERT INTO outbox_blocks (lane, key, seq) SELECT lane, key, seq FROM outbox_messages WHERE state = 3`)
}

func inTransaction(ctx context.Context, pool *sql.DB, statements ...string) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (l *storeLoop) Close() error { return l.store.Close() }
