//go:build soak

package debezium

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/internal/testservices"
)

// TestMove goes the ways of the page, while messages go on being written.
func TestMove(t *testing.T) {
	s := openShop(t)
	sent := s.orders(0, 10)
	s.relay(asItIs)

	t.Run("from_a_relay_to_Debezium_sends_each_message_once_and_in_order", func(t *testing.T) {
		sent = append(sent, s.orders(10, 10)...) // that no relay has seen
		s.connect()
		sent = append(sent, s.orders(20, 10)...)
		wantInOrder(t, s.await(len(sent)), sent)
	})

	t.Run("and_back_sends_each_message_and_only_the_last_of_Debezium_again", func(t *testing.T) {
		s.connector.stop()
		s.idle(s.name)
		sent = append(sent, s.orders(30, 5)...) // deleted before Debezium has read them
		s.run(s.block("From Debezium to a relay", "sql"))
		s.connector.resume()
		again := s.orders(35, 5)
		s.passed(s.name)
		sent = append(sent, again...)
		wantInOrder(t, s.read(), sent)

		s.connector.stop()
		s.idle(s.name)
		sent = append(append(sent, again...), s.orders(40, 5)...)
		s.connector.remove()
		s.dropSlot(s.name)
		s.relay(asItIs)
		wantInOrder(t, s.read(), sent)
	})
}

// wantInOrder wants records of ids and no others, those of a key in this order.
func wantInOrder(t *testing.T, records []record, ids []string) {
	t.Helper()
	keys := make(map[string]string)
	for _, r := range records {
		keys[r.id()] = string(r.Key)
	}
	want := make(map[string][]string)
	for _, id := range ids {
		want[keys[id]] = append(want[keys[id]], id)
	}
	if diff := cmp.Diff(want, idsByKey(records)); diff != "" {
		t.Errorf("ids by key (-want +got):\n%s", diff)
	}
}

func TestLeftOvers(t *testing.T) {
	t.Run("of_a_run_that_was_killed_go_with_the_next", func(t *testing.T) {
		s := claimServer(t)
		name := testservices.Name(prefix)
		s.exec(`SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, name)
		s.exec("CREATE ROLE " + quote(name))
		s.dropLeftOvers()
		const left = `SELECT slot_name FROM pg_replication_slots UNION ALL SELECT rolname FROM pg_roles`
		if slices.Contains(s.list(left), name) {
			t.Errorf("%s is still there", name)
		}
	})
}
