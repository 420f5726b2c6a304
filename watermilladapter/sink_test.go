package watermilladapter_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

var errBroken = errors.New("broken")

// publisherFunc is a Watermill publisher made of a function of one message.
type publisherFunc func(topic string, m *message.Message) error

func (f publisherFunc) Publish(topic string, messages ...*message.Message) error {
	if len(messages) != 1 {
		return fmt.Errorf("got %d messages in a call, want 1", len(messages))
	}
	return f(topic, messages[0])
}

func (publisherFunc) Close() error { return nil }

// log is a Watermill publisher that remembers the payloads it took.
type log struct {
	mu   sync.Mutex
	sent []string
	fail map[string]error
}

func (l *log) publish(_ string, m *message.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fail[string(m.Payload)]; err != nil {
		return err
	}
	l.sent = append(l.sent, string(m.Payload))
	return nil
}

func stored(key, payload string) *outbox.Message {
	return &outbox.Message{
		ID: uuid.Must(uuid.NewV7()), Topic: "orders", Key: key, Type: "OrderPlaced", Version: 1, Payload: []byte(payload),
		ContentType: "text/plain",
	}
}

// words says what became of each message: ok, the class of its failure, or "-" for no word.
func words(results []outbox.Result) []string {
	var ws []string
	for _, r := range results {
		switch {
		case r.Accepted():
			ws = append(ws, "ok")
		case r.Err() == nil:
			ws = append(ws, "-")
		default:
			ws = append(ws, string(outbox.ClassOf(r.Err())))
		}
	}
	return ws
}

func wantWords(t *testing.T, results []outbox.Result, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, words(results)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestSink(t *testing.T) {
	t.Parallel()

	t.Run("maps_every_field_to_what_a_consumer_reads", func(t *testing.T) {
		t.Parallel()
		var got *message.Message
		sink := watermilladapter.Sink(publisherFunc(func(topic string, m *message.Message) error {
			got = m
			return nil
		}), watermilladapter.SinkConfig{KeyMetadata: "customer"})
		m := stored("c-1", "body")
		m.Tenant = "acme"
		m.CreatedAt = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		m.Headers = []outbox.Header{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}, {Name: "correlation_id", Value: "c"}}
		wantWords(t, sink.Publish(t.Context(), []*outbox.Message{m}), "ok")
		if got.UUID != m.ID.String() || string(got.Payload) != "body" {
			t.Errorf("got UUID %s and payload %q, want %s and body", got.UUID, got.Payload, m.ID)
		}
		want := message.Metadata{
			"name": "OrderPlaced", "type": "OrderPlaced", "version": "1", "content-type": "text/plain", "tenant": "acme",
			"created_at": "2026-01-02T03:04:05.000006Z", "a": "2", "correlation_id": "c", "customer": "c-1",
		}
		if diff := cmp.Diff(want, got.Metadata); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
	})

	t.Run("keeps_a_nil_payload_nil_and_leaves_out_an_empty_key", func(t *testing.T) {
		t.Parallel()
		var got *message.Message
		sink := watermilladapter.Sink(publisherFunc(func(_ string, m *message.Message) error {
			got = m
			return nil
		}), watermilladapter.SinkConfig{})
		m := stored("", "")
		m.Payload = nil
		wantWords(t, sink.Publish(t.Context(), []*outbox.Message{m}), "ok")
		if _, has := got.Metadata["partition_key"]; has || got.Payload != nil {
			t.Errorf("got metadata %v and payload %v, want no key and nil", got.Metadata, got.Payload)
		}
	})

	t.Run("gives_the_publisher_a_payload_of_its_own", func(t *testing.T) {
		t.Parallel()
		sink := watermilladapter.Sink(publisherFunc(func(_ string, m *message.Message) error {
			m.Payload[0] = 'X'
			return nil
		}), watermilladapter.SinkConfig{})
		m := stored("", "body")
		wantWords(t, sink.Publish(t.Context(), []*outbox.Message{m}), "ok")
		if string(m.Payload) != "body" {
			t.Errorf("payload %q, want it unchanged", m.Payload)
		}
	})

	t.Run("comes_back_through_a_publisher_as_the_message_it_was", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		back := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{})
		sink := watermilladapter.Sink(publisherFunc(func(topic string, m *message.Message) error {
			m.SetContext(inTransaction(t))
			return back.Publish(topic, m)
		}), watermilladapter.SinkConfig{})
		m := stored("c-1", "body")
		m.Version, m.Tenant = 2, "acme"
		wantWords(t, sink.Publish(t.Context(), []*outbox.Message{m}), "ok")
		m.Headers = []outbox.Header{{Name: "name", Value: "OrderPlaced"}, {Name: "partition_key", Value: "c-1"}}
		if diff := cmp.Diff(m, to.only(t)); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	})

	t.Run("is_key_ordered", func(t *testing.T) {
		t.Parallel()
		if !outbox.KeyOrdered(watermilladapter.Sink(publisherFunc((&log{}).publish), watermilladapter.SinkConfig{})) {
			t.Error("a sink does not say that it keeps keys in order")
		}
	})
}

func TestSinkOrder(t *testing.T) {
	t.Parallel()

	t.Run("stops_a_key_at_its_first_failure_and_no_other", func(t *testing.T) {
		t.Parallel()
		l := &log{fail: map[string]error{"a2": errBroken}}
		sink := watermilladapter.Sink(publisherFunc(l.publish), watermilladapter.SinkConfig{Concurrency: 1})
		results := sink.Publish(t.Context(), []*outbox.Message{
			stored("a", "a1"), stored("b", "b1"), stored("a", "a2"), stored("", "x"),
			stored("a", "a3"), stored("b", "b2"), stored("", "y"),
		})
		wantWords(t, results, "ok", "ok", "unknown", "ok", "-", "ok", "ok")
		if diff := cmp.Diff([]string{"a1", "b1", "b2", "x", "y"}, l.sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})

	t.Run("keeps_each_key_in_order_while_keys_run_side_by_side", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			const keys, each, limit = 20, 5, 4
			var mu sync.Mutex
			open, most := 0, 0
			last := map[string]int{}
			sink := watermilladapter.Sink(publisherFunc(func(_ string, m *message.Message) error {
				mu.Lock()
				open++
				most = max(most, open)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				open--
				key, n := m.Metadata["partition_key"], int(m.Payload[0])
				if n != last[key]+1 {
					t.Errorf("key %s: %d came after %d", key, n, last[key])
				}
				last[key] = n
				return nil
			}), watermilladapter.SinkConfig{Concurrency: limit})
			var messages []*outbox.Message
			for n := range each {
				for k := range keys {
					messages = append(messages, stored(fmt.Sprint("k", k), string(rune(n+1))))
				}
			}
			start := time.Now()
			for i, r := range sink.Publish(t.Context(), messages) {
				if !r.Accepted() {
					t.Errorf("message %d: %v", i, r.Err())
				}
			}
			if most != limit {
				t.Errorf("at most %d calls ran side by side, want %d", most, limit)
			}
			if got, want := time.Since(start), keys*each/limit*time.Second; got != want {
				t.Errorf("took %v, want %v", got, want)
			}
		})
	})
}

func TestSinkErrors(t *testing.T) {
	t.Parallel()

	t.Run("takes_an_error_for_unknown_unless_it_carries_a_class", func(t *testing.T) {
		t.Parallel()
		l := &log{fail: map[string]error{
			"1": errBroken,
			"2": outbox.Permanent(errBroken),
			"3": outbox.Unavailable(errBroken),
			"4": fmt.Errorf("send: %w", outbox.Unroutable(errBroken)),
		}}
		sink := watermilladapter.Sink(publisherFunc(l.publish), watermilladapter.SinkConfig{})
		results := sink.Publish(t.Context(), []*outbox.Message{
			stored("", "1"), stored("", "2"), stored("", "3"), stored("", "4"),
		})
		wantWords(t, results, "unknown", "permanent", "unavailable", "unroutable")
		if !errors.Is(results[0].Err(), errBroken) {
			t.Errorf("error %v does not wrap the publisher's", results[0].Err())
		}
	})

	t.Run("lets_the_application_classify", func(t *testing.T) {
		t.Parallel()
		l := &log{fail: map[string]error{"1": errBroken, "2": errors.New("other"), "3": errors.New("swallowed")}}
		sink := watermilladapter.Sink(publisherFunc(l.publish), watermilladapter.SinkConfig{Classify: func(err error) error {
			switch err.Error() {
			case "broken":
				return outbox.Permanent(err)
			case "swallowed":
				return nil
			}
			return err
		}})
		results := sink.Publish(t.Context(), []*outbox.Message{stored("", "1"), stored("", "2"), stored("", "3")})
		wantWords(t, results, "permanent", "refused", "unknown")
	})

	t.Run("hands_nothing_over_once_the_context_has_ended", func(t *testing.T) {
		t.Parallel()
		l := &log{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		sink := watermilladapter.Sink(publisherFunc(l.publish), watermilladapter.SinkConfig{})
		wantWords(t, sink.Publish(ctx, []*outbox.Message{stored("a", "1"), stored("", "2")}), "-", "-")
		if len(l.sent) != 0 {
			t.Errorf("sent %v", l.sent)
		}
	})

	t.Run("waits_a_moment_for_open_calls_when_the_context_ends", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			release := make(chan struct{})
			defer close(release)
			sink := watermilladapter.Sink(publisherFunc(func(_ string, m *message.Message) error {
				if string(m.Payload) == "slow" {
					<-release
					return nil
				}
				time.Sleep(1500 * time.Millisecond)
				return nil
			}), watermilladapter.SinkConfig{})
			start := time.Now()
			results := sink.Publish(ctx, []*outbox.Message{stored("a", "fast"), stored("a", "next"), stored("b", "slow")})
			wantWords(t, results, "ok", "-", "unknown")
			if got := time.Since(start); got != 2*time.Second {
				t.Errorf("took %v, want 2s", got)
			}
		})
	})

	t.Run("gives_up_on_a_publisher_that_hangs_and_starts_no_more_calls_until_it_returns", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			sink := watermilladapter.Sink(publisherFunc(func(string, *message.Message) error {
				<-release
				return nil
			}), watermilladapter.SinkConfig{Concurrency: 2, Timeout: time.Minute})
			start := time.Now()
			two := func() []*outbox.Message { return []*outbox.Message{stored("a", "1"), stored("b", "1")} }
			wantWords(t, sink.Publish(t.Context(), two()), "unknown", "unknown")
			if got := time.Since(start); got != time.Minute {
				t.Errorf("took %v, want a minute", got)
			}
			wantWords(t, sink.Publish(t.Context(), two()), "unavailable", "unavailable")
			close(release)
			synctest.Wait()
			wantWords(t, sink.Publish(t.Context(), two()), "ok", "ok")
		})
	})
}
