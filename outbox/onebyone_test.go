package outbox_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
)

func TestPublisherFunc(t *testing.T) {
	t.Parallel()
	t.Run("stops_a_key_at_its_first_failure_and_no_other", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		sent := make(map[string][]string)
		f := outbox.PublisherFunc(func(_ context.Context, m *outbox.Message) error {
			mu.Lock()
			defer mu.Unlock()
			sent[m.Key] = append(sent[m.Key], string(m.Payload))
			if string(m.Payload) == "bad" {
				return errFault
			}
			return nil
		})
		results := f.Publish(t.Context(), []*outbox.Message{
			message("a", "1"), message("a", "bad"), message("b", "1"), message("a", "3"), message("b", "2"),
		})
		if d := cmp.Diff(map[string][]string{"a": {"1", "bad"}, "b": {"1", "2"}}, sent); d != "" {
			t.Error(d)
		}
		var got []bool
		for _, r := range results {
			got = append(got, r.Accepted())
		}
		if d := cmp.Diff([]bool{true, false, true, false, true}, got); d != "" {
			t.Error(d)
		}
		if results[1].Err() == nil || results[3].Err() != nil {
			t.Errorf("got %v and %v, want the failure and no word", results[1].Err(), results[3].Err())
		}
	})
	t.Run("sends_as_many_keys_side_by_side_as_it_may", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var ms []*outbox.Message
			for _, n := range numbers(40) {
				ms = append(ms, message("key"+n[len(n)-1:], n), message("", n))
			}
			began := time.Now()
			outbox.PublishOneByOne(t.Context(), ms, 10, func(context.Context, *outbox.Message) error {
				time.Sleep(time.Second)
				return nil
			})
			if took := time.Since(began); took != 8*time.Second {
				t.Errorf("80 messages of a second each, ten at a time, took %v, want 8 s", took)
			}
		})
	})
	t.Run("sends_nothing_once_its_context_has_ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		f := outbox.PublisherFunc(func(context.Context, *outbox.Message) error { cancel(); return nil })
		results := f.Publish(ctx, []*outbox.Message{message("a", "1"), message("a", "2")})
		if !results[0].Accepted() || results[1] != (outbox.Result{}) {
			t.Errorf("got %v, want the second without a word", results)
		}
	})
}
