// Package wait waits for a time or for a condition, as long as a context lives.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// For waits for d and reports whether ctx still lives.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Until asks again and again until condition is true. Its errors count as false; the last one is told when ctx ends
// before limit does, or the other way round.
func Until(
	ctx context.Context, limit time.Duration, what string, condition func(ctx context.Context) (bool, error),
) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := condition(ctx)
		if ok && err == nil {
			return nil
		}
		if !For(ctx, 100*time.Millisecond) {
			return fmt.Errorf("wait until %s: %w", what, errors.Join(ctx.Err(), err))
		}
	}
}
