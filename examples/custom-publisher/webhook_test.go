package custompublisher_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	custompublisher "github.com/postroom/postroom/examples/custom-publisher"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/publishertest"
)

// receiver takes messages for every topic but "missing", and refuses those that say "poison".
type receiver struct {
	mu     sync.Mutex
	topics map[string][]publishertest.Received
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var e custompublisher.Envelope
	topic := strings.TrimPrefix(request.URL.Path, "/")
	switch err := json.NewDecoder(request.Body).Decode(&e); {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case topic == "missing":
		w.WriteHeader(http.StatusNotFound)
	case string(e.Payload) == "poison":
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		r.take(topic, e)
		w.WriteHeader(http.StatusAccepted)
	}
}

func (r *receiver) take(topic string, e custompublisher.Envelope) {
	got := publishertest.Received{Payload: e.Payload, Headers: make(map[string]string)}
	for _, h := range e.Headers {
		got.Headers[h.Name] = h.Value
		if h.Name == outbox.HeaderID {
			got.ID = uuid.MustParse(h.Value)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.topics[topic] = append(r.topics[topic], got)
}

// read returns what topic holds: the answer to a request comes after the message has been taken.
func (r *receiver) read(t *testing.T, topic string, n int) []publishertest.Received {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.topics[topic]) < n {
		t.Fatalf("topic %s holds %d messages, want %d", topic, len(r.topics[topic]), n)
	}
	return r.topics[topic]
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	publishertest.Run(t, subject)
}

func subject(t *testing.T) publishertest.Subject {
	t.Helper()
	r := &receiver{topics: make(map[string][]publishertest.Received)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return publishertest.Subject{
		Publisher: &custompublisher.Webhook{Base: server.URL, Client: server.Client()},
		Topic:     func(*testing.T) string { return uuid.NewString() },
		Missing:   "missing",
		Poison: func(topic string) *outbox.Message {
			return &outbox.Message{ID: uuid.New(), Topic: topic, Type: "Poison", Version: 1, Payload: []byte("poison")}
		},
		Read: r.read,
	}
}

func TestWebhook_outcomes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		want   outbox.Class
	}{
		"a_limit_is_a_wait":                         {http.StatusTooManyRequests, outbox.ClassRetryAfter},
		"a_closed_shop_is_an_outage":                {http.StatusServiceUnavailable, outbox.ClassUnavailable},
		"a_gateway_that_timed_out_is_unknown":       {http.StatusGatewayTimeout, outbox.ClassUnknown},
		"a_fault_of_the_receiver_is_a_refusal":      {http.StatusInternalServerError, outbox.ClassRefused},
		"a_message_that_is_too_large_is_permanent":  {http.StatusRequestEntityTooLarge, outbox.ClassPermanent},
		"a_topic_that_is_not_there_is_not_routable": {http.StatusNotFound, outbox.ClassUnroutable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
			}))
			defer server.Close()
			w := &custompublisher.Webhook{Base: server.URL, Client: server.Client()}
			wantClass(t, w, tc.want)
		})
	}
	t.Run("nobody_there_is_an_outage", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		wantClass(t, &custompublisher.Webhook{Base: server.URL, Client: http.DefaultClient}, outbox.ClassUnavailable)
	})
	t.Run("a_redirect_is_a_refusal", func(t *testing.T) {
		t.Parallel()
		moved := http.NewServeMux()
		moved.Handle("/orders", http.RedirectHandler("/elsewhere", http.StatusMovedPermanently))
		moved.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) {})
		server := httptest.NewServer(moved)
		defer server.Close()
		wantClass(t, &custompublisher.Webhook{Base: server.URL, Client: server.Client()}, outbox.ClassRefused)
	})
	t.Run("an_answer_that_does_not_come_in_time_is_unknown", func(t *testing.T) {
		t.Parallel()
		end := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
		defer server.Close()
		defer close(end)
		w := &custompublisher.Webhook{Base: server.URL, Client: server.Client(), Timeout: 50 * time.Millisecond}
		wantClass(t, w, outbox.ClassUnknown)
	})
}

func wantClass(t *testing.T, w *custompublisher.Webhook, want outbox.Class) {
	t.Helper()
	m := &outbox.Message{ID: uuid.New(), Topic: "orders", Type: "OrderPlaced", Version: 1}
	result := w.Publish(t.Context(), []*outbox.Message{m})[0]
	if got := outbox.ClassOf(result.Err()); result.Accepted() || got != want {
		t.Errorf("got accepted %t, class %s; want class %s", result.Accepted(), got, want)
	}
}
