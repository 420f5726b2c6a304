package main

import (
	"fmt"
	"testing"

	"github.com/postroom/postroom/cmd/postroom/internal/doctor"
)

func TestDoctor_failures(t *testing.T) {
	t.Parallel()
	t.Run("names_what_is_parked_however_much_is_tried_again_and_says_how_much_it_leaves_out", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		for n := range 25 {
			topic := fmt.Sprint("topic-", n)
			d.enqueue(message(topic, "a"), message(topic, "b"))
		}
		d.enqueue(message("orders", "a"))
		execute(t, d.db, `UPDATE outbox_messages SET attempts = 1, failures = 1, last_class = 'permanent',
			last_error = 'too large', available_at = now(), state = CASE topic WHEN 'orders' THEN 3 ELSE 2 END`)
		d.want(nil, "parked", doctor.Warning, "topic orders", "1 message of type order.placed: parked")
		d.want(nil, "parked", doctor.Notice, "6 groups more are not named here")
	})
}
