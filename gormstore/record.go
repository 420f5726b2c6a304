package gormstore

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// Record adds an act to the audit that is upon no message and no scope, under a word for it, such as release. What
// [outbox.Inspector] and [outbox.Pauser] do is recorded by themselves.
func (s *Store) Record(ctx context.Context, act outbox.Act, deed string) error {
	if err := act.Check(); err != nil {
		return err
	}
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return err
	}
	return s.dialect.transact(ctx, s.pool, func(q querier) error {
		return s.record(ctx, q, act, deed, outbox.Scope{})
	})
}

// record adds an act on a scope to the audit.
func (s *Store) record(ctx context.Context, q querier, act outbox.Act, deed string, scope outbox.Scope) error {
	var key any
	if scope.Key != "" {
		key = scope.Key
	}
	audit, nobody := s.dialect.pauseSQL().audit, uuid.Nil.String()
	if _, err := q.ExecContext(ctx, audit, act.By, act.Reason, deed, nobody, scope.Topic, key); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}
