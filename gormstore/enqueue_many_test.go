package gormstore_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func TestEnqueue_many(t *testing.T) {
	t.Run("a_hundred_thousand_in_one_call_keep_their_order", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openPostgres(t, gorm.Config{}), 64, gormstore.Config{})
		messages := make([]*outbox.Message, 100_000)
		for i := range messages {
			messages[i] = message(fmt.Sprint("k", i%1000))
		}
		f.store1(messages...)
		var stored []uuid.UUID
		if err := f.db.Raw("SELECT id FROM outbox_messages ORDER BY seq").Scan(&stored).Error; err != nil {
			t.Fatal(err)
		}
		if len(stored) != len(messages) {
			t.Fatalf("stored %d messages, want %d", len(stored), len(messages))
		}
		for i, id := range stored {
			if id != messages[i].ID {
				t.Fatalf("message %d is not the one that was enqueued in its place", i)
			}
		}
	})
	t.Run("more_bytes_than_one_statement_takes", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
		var messages []*outbox.Message
		for i := range 4 {
			m := message("k")
			m.Payload = bytes.Repeat([]byte{byte(i)}, 8<<20)
			messages = append(messages, m)
		}
		f.store1(messages...)
		r := f.started()
		for i := range messages {
			c := r.claim(limit(1))
			if len(c.Messages) != 1 || !bytes.Equal(c.Messages[0].Payload, messages[i].Payload) {
				t.Fatalf("message %d did not come back as it was", i)
			}
			r.settle(c, all(outbox.Delivered))
		}
	})
	t.Run("texts_and_bytes_as_they_were", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			var messages []*outbox.Message
			for i, text := range []string{`a"b`, `a\b`, `{a,b}`, `NULL`, ` `, `'`, "é☂😀", "$1::text", "a\nb"} {
				m := message("key " + text)
				m.Type, m.Tenant = "type "+text, text
				m.Payload = [][]byte{nil, {}, {0, 0xff, '\\', '"'}}[i%3]
				m.Headers = [][]outbox.Header{nil, {{Name: "x", Value: text}}}[i%2]
				messages = append(messages, m)
			}
			f.store1(messages...)
			byID := map[uuid.UUID]*outbox.Claimed{}
			for _, m := range f.started().claim().Messages {
				byID[m.ID] = m
			}
			for _, want := range messages {
				got, ok := byID[want.ID]
				if !ok {
					t.Errorf("%q was not claimed", want.Key)
					continue
				}
				have := [...]any{got.Key, got.Type, got.Tenant, got.Payload, got.Headers}
				if diff := cmp.Diff([...]any{want.Key, want.Type, want.Tenant, want.Payload, want.Headers}, have); diff != "" {
					t.Errorf("%q came back changed (-want +got):\n%s", want.Key, diff)
				}
			}
		})
	})
}
