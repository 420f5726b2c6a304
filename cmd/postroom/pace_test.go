package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/postroom/postroom/outbox"
)

func TestPace(t *testing.T) {
	t.Parallel()
	t.Run("does_not_make_up_for_the_time_that_it_waited", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var at []time.Duration
			began := time.Now()
			o := &order{pace: pace{rate: 10}}
			o.do = func(_ outbox.Inspector, ctx context.Context, _ outbox.Act, ids ...uuid.UUID) (int, error) {
				at = append(at, time.Since(began))
				if len(at) == 2 {
					return len(ids), sleepUntil(ctx, time.Now().Add(time.Minute)) // a database that is slow once
				}
				return len(ids), nil
			}
			n, err := o.carryOut(t.Context(), &cobra.Command{}, nil, outbox.Act{}, make([]matched, 40))
			if n != 40 || err != nil {
				t.Fatalf("changed %d, %v", n, err)
			}
			for i, want := range []time.Duration{0, 1 * time.Second, 61 * time.Second, 62 * time.Second} {
				if at[i] != want {
					t.Errorf("batch %d went out at %v, want %v", i+1, at[i], want)
				}
			}
		})
	})
}
