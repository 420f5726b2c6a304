package outbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

func TestGroupFailures(t *testing.T) {
	t.Parallel()
	one := func(text string, age time.Duration) outbox.FailureGroup {
		return outbox.FailureGroup{
			Status: outbox.StatusParked, Topic: "orders", Error: text, Messages: 1, Oldest: age, Example: uuid.New(),
		}
	}
	t.Run("takes_digits_for_alike_and_the_oldest_for_the_example", func(t *testing.T) {
		t.Parallel()
		young, old, odd := one("dial 10.0.0.1:80", time.Second), one("dial 10.0.0.22:8080", time.Minute), one("dial", 0)
		want := old
		want.Messages = 3
		got := outbox.GroupFailures([]outbox.FailureGroup{odd, young, old, young})
		if diff := cmp.Diff([]outbox.FailureGroup{want, odd}, got); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
	})
	t.Run("compares_and_shows_200_bytes_of_an_error", func(t *testing.T) {
		t.Parallel()
		text := "é" + strings.Repeat("x", 197) + "é"
		got := outbox.GroupFailures([]outbox.FailureGroup{one(text+"a", 2), one(text+"b", 1)})
		if len(got) != 1 || got[0].Messages != 2 || got[0].Error != text[:199] {
			t.Errorf("got %+v, want one group with an error that ends before the rune that is cut", got)
		}
	})
	t.Run("of_none_is_none", func(t *testing.T) {
		t.Parallel()
		if got := outbox.GroupFailures(nil); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}
