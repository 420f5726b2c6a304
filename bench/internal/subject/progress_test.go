package subject_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postroom/postroom/bench/internal/subject"
)

func TestProgress(t *testing.T) {
	t.Parallel()

	t.Run("takes_the_time_from_begin_to_end", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := subject.NewProgress(10)
			p.Begin()
			time.Sleep(2 * time.Second)
			p.Add(10)
			time.Sleep(time.Second)
			p.End()
			time.Sleep(time.Second)
			if got := p.Took(); got != 3*time.Second {
				t.Errorf("took %v, want 3s", got)
			}
		})
	})

	t.Run("leaves_a_slow_start_and_a_slow_end_out_of_the_steady_rate", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := subject.NewProgress(1_000)
			p.Begin()
			time.Sleep(time.Minute)
			for range 95 {
				p.Add(10)
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(time.Minute)
			p.Add(50)
			p.End()
			if got := p.Steady(); got != 100 {
				t.Errorf("steady = %v, want 100 per second", got)
			}
		})
	})

	t.Run("has_no_steady_rate_for_a_single_step", func(t *testing.T) {
		t.Parallel()
		p := subject.NewProgress(1_000)
		p.Begin()
		p.Add(1_000)
		p.End()
		if got := p.Steady(); got != 0 {
			t.Errorf("steady = %v, want 0", got)
		}
	})

	t.Run("waits_until_all_are_counted_and_takes_more_than_all_calmly", func(t *testing.T) {
		t.Parallel()
		p := subject.NewProgress(3)
		p.Add(2)
		select {
		case <-p.All():
			t.Fatal("done after 2 of 3")
		default:
		}
		p.Add(2)
		p.Add(1)
		if err := p.Wait(t.Context(), nil); err != nil {
			t.Errorf("Wait: %v", err)
		}
		if got := p.Done(); got != 5 {
			t.Errorf("done = %d, want 5", got)
		}
	})

	t.Run("ends_its_wait_with_what_broke_the_subject", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("boom")
		broken := make(chan error, 2)
		broken <- cause
		broken <- nil
		p := subject.NewProgress(3)
		if err := p.Wait(t.Context(), broken); !errors.Is(err, cause) {
			t.Errorf("Wait = %v, want %v", err, cause)
		}
		if err := p.Wait(t.Context(), broken); err == nil {
			t.Error("Wait = nil for a subject that ended early")
		}
	})

	t.Run("ends_its_wait_when_time_is_up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := subject.NewProgress(3).Wait(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait = %v, want its deadline", err)
			}
		})
	})
}
