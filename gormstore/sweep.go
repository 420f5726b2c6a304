package gormstore

import (
	"context"
	"sync/atomic"
)

// Every sweepEvery rows that are added to a table that forgets, up to sweepRows old ones are deleted, so that it stays
// at its size without a task of its own, and no statement is long.
const (
	sweepEvery = 64
	sweepRows  = 256
)

// swept counts a new row, and deletes old ones when it is time. args come before the number of rows. Nobody waits for
// success: the next sweep does what this one leaves.
func (s *Store) swept(ctx context.Context, added *atomic.Uint64, purge string, args ...any) {
	if added.Add(1)%sweepEvery != 0 {
		return
	}
	_, err := s.execOnce(ctx, purge, append(args, sweepRows)...)
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "old rows were not deleted and will be later", "error", err)
	}
}
