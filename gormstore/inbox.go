package gormstore

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

const (
	defaultReplay = 7 * 24 * time.Hour
	inboxMargin   = 24 * time.Hour
)

// inboxSQL are the statements about handled messages. Their arguments are the same everywhere.
type inboxSQL struct {
	claim string // handler, id: insert, unless it is there
	purge string // µs, rows: delete what was handled longer ago
}

// Once implements [outbox.Inbox] with a unique row in the handler's own transaction, which is on PostgreSQL what
// another call for the same message waits for. On SQLite it waits for the one that writes.
func (s *Store) Once(
	ctx context.Context, handler, id string, handle func(ctx context.Context) error,
) (handled bool, err error) {
	if err := outbox.CheckHandled(handler, id); err != nil {
		return false, err
	}
	err = s.Transaction(ctx, func(tx *Tx) error {
		handled, err = s.claimHandling(ctx, tx, handler, id)
		if err != nil || !handled {
			return err
		}
		return handle(tx.Context())
	})
	if err != nil {
		return false, err
	}
	if _, joined := s.FromContext(ctx); handled && !joined {
		s.swept(ctx, &s.handled, s.dialect.inboxSQL().purge, s.config.inboxRetention().Microseconds())
	}
	return handled, nil
}

// claimHandling returns whether the message is handler's to handle, for as long as the transaction is open.
func (s *Store) claimHandling(ctx context.Context, tx *Tx, handler, id string) (bool, error) {
	pool := tx.Statement.ConnPool
	if _, err := s.schema.lanes(ctx, s.dialect, pool, s.log); err != nil {
		return false, err
	}
	n, err := execIn(ctx, pool, s.dialect.inboxSQL().claim, handler, id)
	if err != nil {
		return false, fmt.Errorf("claim message %s for handler %s: %w", id, handler, transactionError(ctx, err))
	}
	return n > 0, nil
}

// checkInbox refuses to forget messages that may still come again.
func (c Config) checkInbox() error {
	if c.inboxRetention() <= max(0, c.replayWindow()) {
		return fmt.Errorf("%w: InboxRetention is %v and ReplayWindow %v", ErrRetention, c.inboxRetention(), c.replayWindow())
	}
	return nil
}

func (c Config) replayWindow() time.Duration {
	if c.ReplayWindow == 0 {
		return defaultReplay
	}
	return c.ReplayWindow
}

func (c Config) inboxRetention() time.Duration {
	if c.InboxRetention == 0 {
		return c.replayWindow() + inboxMargin
	}
	return c.InboxRetention
}
