package memstore_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	t.Run("are_remembered_for_an_hour_after_their_end_and_then_forgotten", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := memstore.New(memstore.Config{})
			dead := outbox.LaneRequest{Session: uuid.New(), Relay: "dead", Lease: time.Second}
			acquire := func(r outbox.LaneRequest) error {
				_, err := s.AcquireLanes(t.Context(), r)
				return err
			}
			if err := acquire(dead); err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct {
				after time.Duration
				want  error
			}{{time.Hour, outbox.ErrSessionEnded}, {2 * time.Second, nil}} {
				time.Sleep(step.after)
				for range 2 { // the first stamps, the second forgets
					if err := acquire(outbox.LaneRequest{Session: uuid.New(), Relay: "other", Lease: time.Second}); err != nil {
						t.Fatal(err)
					}
				}
				if err := acquire(dead); !errors.Is(err, step.want) {
					t.Errorf("after %v: got %v, want %v", step.after, err, step.want)
				}
			}
		})
	})
}
