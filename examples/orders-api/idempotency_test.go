package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// sendWithKey posts an order under a key.
func sendWithKey(t *testing.T, shop, key, body string) (int, string, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, shop+"/orders", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(got), answer.Header
}

func TestIdempotentOrder(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(t *testing.T) string{
		"on_SQLite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "orders.db") },
		"on_PostgreSQL": func(t *testing.T) string {
			address, _ := schema(t)
			return address
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("is_placed_once_and_answered_alike", func(t *testing.T) {
				shop, s := newShopOn(t, address(t))
				key := uuid.NewString()
				status, first, header := sendWithKey(t, shop, key, anOrder)
				if status != http.StatusCreated || header.Get("Idempotent-Replayed") != "" {
					t.Fatalf("the first answer is %d %s %v", status, first, header)
				}
				for range 2 {
					status, again, replayed := sendWithKey(t, shop, key, anOrder)
					if status != http.StatusCreated || again != first || replayed.Get("Idempotent-Replayed") != "true" {
						t.Errorf("sent again: %d %s %v, want the first answer, replayed", status, again, replayed)
					}
					for _, name := range []string{"Location", "Content-Type"} {
						if replayed.Get(name) != header.Get(name) {
							t.Errorf("%s is %q in the replay, was %q", name, replayed.Get(name), header.Get(name))
						}
					}
				}
				wantRows(t, s.db, map[string]int64{"orders": 1, "outbox_messages": 1})
			})
			t.Run("is_another_order_under_another_key", func(t *testing.T) {
				shop, s := newShopOn(t, address(t))
				for _, key := range []string{"first", "second"} {
					if status, body, _ := sendWithKey(t, shop, key, anOrder); status != http.StatusCreated {
						t.Errorf("answered %d %s", status, body)
					}
				}
				wantRows(t, s.db, map[string]int64{"orders": 2, "outbox_messages": 2})
			})
			t.Run("can_be_corrected_under_its_key_when_it_was_refused", func(t *testing.T) {
				shop, s := newShopOn(t, address(t))
				status, body, _ := sendWithKey(t, shop, "k", `{"customer":"c-1"}`)
				if status != http.StatusUnprocessableEntity {
					t.Errorf("answered %d %s, want 422", status, body)
				}
				if status, body, _ = sendWithKey(t, shop, "k", anOrder); status != http.StatusCreated {
					t.Errorf("answered %d %s, want 201", status, body)
				}
				wantRows(t, s.db, map[string]int64{"orders": 1, "outbox_messages": 1})
			})
			t.Run("is_refused_under_the_key_of_another", func(t *testing.T) {
				shop, s := newShopOn(t, address(t))
				sendWithKey(t, shop, "k", anOrder)
				other := strings.Replace(anOrder, "book", "pen", 1)
				status, body, _ := sendWithKey(t, shop, "k", other)
				if status != http.StatusUnprocessableEntity {
					t.Errorf("answered %d %s, want 422", status, body)
				}
				wantRows(t, s.db, map[string]int64{"orders": 1, "outbox_messages": 1})
			})
		})
	}
}
