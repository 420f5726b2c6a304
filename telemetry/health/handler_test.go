package health_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/telemetry/health"
)

func oneLane() *memstore.Store { return memstore.New(memstore.Config{Lanes: 1}) }

func ask(t *testing.T, h http.Handler, method string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil))
	return w
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	t.Run("answer_with_the_report_as_JSON_and_503_when_all_is_not_well", func(t *testing.T) {
		t.Parallel()
		f := newFaulty()
		relay, err := outbox.NewRelay(f, f, outbox.RelayConfig{})
		if err != nil {
			t.Fatal(err)
		}
		checks := health.New(health.Config{Store: f}, relay)
		w := ask(t, checks.Ready(), http.MethodGet)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Type") != "application/json" ||
			w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("got %d with %v", w.Code, w.Header())
		}
		const body = `{"live":true,"ready":false,` +
			`"problems":[{"cause":"relay_not_ready","detail":"relay 1 of 1 is idle"}],` +
			`"relays":[{"state":"idle","store_down":false,"publisher_down":false,"lanes":0,"leads":false,"in_flight":0,` +
			`"delivered":0,"refused":0,"deferred":0,"parked":0,"claims_lost":0,"uncertain":0,"policy":"3c60bd6b"}],` +
			`"backlog":{"messages":{},"oldest_seconds":0,"capped":false}}` + "\n"
		if got := w.Body.String(); got != body {
			t.Errorf("got  %swant %s", got, body)
		}
		if w := ask(t, checks.Live(), http.MethodGet); w.Code != http.StatusOK {
			t.Errorf("live: got %d, want 200", w.Code)
		}
	})
	t.Run("show_no_backlog_that_is_not_known_and_no_error_of_a_driver", func(t *testing.T) {
		t.Parallel()
		f := newFaulty()
		f.enqueue(t, message("secret-key"))
		f.down = true
		body := ask(t, health.New(health.Config{Store: f, Logger: quiet}).Ready(), http.MethodGet).Body.String()
		var report map[string]any
		if err := json.Unmarshal([]byte(body), &report); err != nil {
			t.Fatal(err)
		}
		if got, there := report["backlog"]; !there || got != nil {
			t.Errorf("backlog: got %v, want null", got)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("the answer tells a secret: %s", body)
		}
	})
	t.Run("of_liveness_ask_nobody", func(t *testing.T) {
		t.Parallel()
		f := newFaulty()
		f.down = true
		if w := ask(t, health.New(health.Config{Store: f}).Live(), http.MethodGet); w.Code != http.StatusOK {
			t.Errorf("got %d, want 200", w.Code)
		}
		if f.queries != 0 {
			t.Errorf("the store was asked %d times", f.queries)
		}
	})
	t.Run("refuse_to_be_written_to", func(t *testing.T) {
		t.Parallel()
		checks := health.New(health.Config{})
		for _, h := range []http.Handler{checks.Live(), checks.Ready()} {
			if w := ask(t, h, http.MethodPost); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("POST: got %d, want 405", w.Code)
			}
		}
	})
	t.Run("change_nothing", func(t *testing.T) {
		t.Parallel()
		f := newFaulty()
		f.enqueue(t, message("a"))
		ready := health.New(health.Config{Store: f, Every: time.Nanosecond}).Ready()
		first := ask(t, ready, http.MethodGet).Code
		for range 10 {
			ask(t, ready, http.MethodGet)
		}
		found, err := f.Find(t.Context(), outbox.Filter{}, 0, 10)
		if err != nil || len(found) != 1 || found[0].Attempts != 0 || found[0].Status != outbox.StatusPending ||
			first != http.StatusOK {
			t.Errorf("got %+v, %v, want the message as it was", found, err)
		}
	})
}
