package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/outbox"
)

// counted is a store that counts how often it is asked for its backlog.
type counted struct {
	*demo
	asked atomic.Int64
}

func (c *counted) Backlog(ctx context.Context) (outbox.Backlog, error) {
	c.asked.Add(1)
	return c.demo.Backlog(ctx)
}

func overviewOf(t *testing.T, d *dashboard.Dashboard) string {
	t.Helper()
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/outbox/", nil))
	if answer.Code != http.StatusOK {
		t.Errorf("the overview: %d", answer.Code)
	}
	return answer.Body.String()
}

var firstLine = regexp.MustCompile(`class="line" d="([^"]*)"`)

// pointsIn counts the points of the first chart.
func pointsIn(page string) int {
	line := firstLine.FindStringSubmatch(page)
	if line == nil {
		return 0
	}
	return strings.Count(line[1], "L")
}

func TestSamples(t *testing.T) {
	t.Parallel()

	t.Run("are_taken_once_in_five_seconds_however_many_look", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := &counted{demo: newDemo()}
			d := newDashboard(t, store, nil)
			for range 3 {
				var visitors sync.WaitGroup
				for range 20 {
					visitors.Go(func() { overviewOf(t, d) })
				}
				visitors.Wait()
				time.Sleep(5 * time.Second)
			}
			if asked := store.asked.Load(); asked != 3 {
				t.Errorf("the store was asked %d times, want 3", asked)
			}
		})
	})

	t.Run("go_on_while_Run_runs_and_nobody_looks", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := newDashboard(t, newDemo(), nil)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- d.Run(ctx) }()
			time.Sleep(time.Minute + time.Millisecond)
			stop()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
			if points := pointsIn(overviewOf(t, d)); points != 13 {
				t.Errorf("the chart has %d points, want one at the start and twelve of a minute", points)
			}
		})
	})

	t.Run("are_kept_for_an_hour", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := newDashboard(t, newDemo(), nil)
			for range 100 {
				overviewOf(t, d)
				time.Sleep(time.Minute)
			}
			if points := pointsIn(overviewOf(t, d)); points != 61 {
				t.Errorf("the chart has %d points, want those of an hour", points)
			}
		})
	})

	t.Run("are_not_spoilt_by_a_visitor_who_leaves", func(t *testing.T) {
		t.Parallel()
		d := newDashboard(t, newDemo(), nil)
		gone, leave := context.WithCancel(t.Context())
		leave()
		request := httptest.NewRequestWithContext(gone, http.MethodGet, "/outbox/", nil)
		d.ServeHTTP(httptest.NewRecorder(), request)
		if page := overviewOf(t, d); strings.Contains(page, "The backlog is not known") {
			t.Error("the next visitor is told that the backlog is not known")
		}
	})
}
