package gormstore

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

// archived are the columns that a message takes along into the archive.
const archived = `id, seq, lane, attempts, failures, version, uncertain, available_at, created_at, topic, key, type,
  content_type, transport, tenant, headers, payload`

// checkArchive refuses a time that is none.
func (c Config) checkArchive() error {
	if c.Archive < 0 {
		return &outbox.FieldError{
			Field: "Archive", Code: outbox.CodeOutOfRange, Got: int(c.Archive), Hint: "a time to keep messages is not negative",
		}
	}
	return nil
}

// Prune removes sessions that ended a week ago and, where [Config.Archive] is set, up to limit delivered messages that
// were kept for that long, see outbox.Pruner; it also finishes pauses whose end was interrupted. Without Archive it
// leaves the archive alone: another process may fill it.
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return 0, err
	}
	err := s.dialect.transact(ctx, s.pool, func(q querier) error { return s.dialect.prune(ctx, q) })
	if err != nil {
		return 0, fmt.Errorf("prune sessions: %w", err)
	}
	if err := s.finishPauses(ctx); err != nil {
		return 0, fmt.Errorf("finish pauses that are ending: %w", err)
	}
	if s.config.Archive == 0 {
		return 0, nil
	}
	return s.PurgeArchive(ctx, s.config.Archive, limit)
}

// PurgeArchive removes up to limit messages that were delivered longer ago than keep, the oldest first, and returns
// how many. It is one short statement that waits for nobody; call it until it returns fewer than limit.
func (s *Store) PurgeArchive(ctx context.Context, keep time.Duration, limit int) (int, error) {
	var n int
	err := s.dialect.transact(ctx, s.pool, func(q querier) (err error) {
		n, err = s.dialect.purgeArchive(ctx, q, keep, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge the archive: %w", err)
	}
	return n, nil
}
