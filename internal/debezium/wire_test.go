//go:build soak

package debezium

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/outbox"
)

// instants are times of creation that a text can be cut short for, or not.
var instants = []string{"2026-03-01 12:30:00Z", "2026-03-01 12:30:00.12Z", "2026-03-01 12:30:00.123456Z"}

// variants are messages of every kind.
func variants() []*outbox.Message {
	all := []*outbox.Message{
		{Key: "order-1", Payload: []byte(`{"total": 1,  "b": null}`), ContentType: "application/json"},
		{Payload: []byte("no key")},
		{Key: "order-1"},
		{Key: "order-1", Payload: []byte{}},
		{},
		{Payload: []byte{}},
		{Key: "order-2", Payload: []byte{0, 255, 10, 0}, Version: 2},
		{Key: "bestellung-ß-🙂", Payload: []byte("größe\n"), Tenant: "ägypten"},
		{Key: `a"b'c,d=\`, Payload: []byte("{"), Tenant: "acme"},
		{Key: " ", Payload: []byte("  ")},
		{Key: "order-1", Payload: bytes.Repeat([]byte("0123456789abcdef"), 2_000)},
		{Key: "order-1", Payload: []byte("own"), Headers: []outbox.Header{
			{Name: "correlation_id", Value: "c"}, {Name: "traceparent", Value: "00-1-2-01"}, {Name: "z", Value: "1"},
		}},
	}
	for _, m := range all {
		m.Type = "Größe.geändert"
	}
	return all
}

// enqueueVariants commits messages of every kind, together and alone.
func (s *shop) enqueueVariants() (all []*outbox.Message) {
	s.Helper()
	all = s.enqueue(variants()...)
	for _, m := range variants() {
		all = append(all, s.enqueue(m)...)
	}
	for _, at := range instants {
		s.run(`ALTER TABLE outbox_messages ALTER created_at SET DEFAULT '` + at + `'`)
		all = append(all, s.enqueue(&outbox.Message{Key: "order-1", Type: "order.dated"})...)
	}
	s.run(`ALTER TABLE outbox_messages ALTER created_at SET DEFAULT clock_timestamp()`)
	return all
}

// wire is what consumers see of a message.
type wire struct {
	Partition  int32 // of a message with a key
	Key, Value []byte
	Headers    []kgo.RecordHeader
}

// shared is what Debezium and our publisher have in common, by id: without Debezium's header of the id and its empty
// tenant, and without the message's own headers, which Debezium cannot read.
func shared(records []record) map[string]wire {
	names := []string{
		outbox.HeaderID, outbox.HeaderType, outbox.HeaderVersion, outbox.HeaderContentType, outbox.HeaderTenant,
		outbox.HeaderCreatedAt,
	}
	all := make(map[string]wire)
	for _, r := range records {
		w := wire{Key: r.Key, Value: r.Value}
		if r.Key != nil {
			w.Partition = r.Partition
		}
		for _, h := range r.Headers {
			if slices.Contains(names, h.Key) && (h.Key != outbox.HeaderTenant || len(h.Value) > 0) {
				w.Headers = append(w.Headers, h)
			}
		}
		all[r.id()] = w
	}
	return all
}

func TestEventRouter(t *testing.T) {
	s := openShop(t)
	messages := s.enqueueVariants()
	s.connect()
	s.await(len(messages)) // from here on Debezium reads the WAL
	messages = append(messages, s.enqueueVariants()...)
	s.await(len(messages))
	s.relay(func(p outbox.Publisher) outbox.Publisher {
		return &reluctant{Publisher: p, refused: make(map[string]bool)}
	})
	last := s.enqueue(&outbox.Message{Key: "order-1", Type: "order.last"})[0]
	records := s.await(2*len(messages) + 1)

	var debezium, ours []record
	for _, r := range records {
		if r.byDebezium() {
			debezium = append(debezium, r)
		} else {
			ours = append(ours, r)
		}
	}

	t.Run("takes_no_notice_of_what_relays_do_to_rows", func(t *testing.T) {
		if len(ours) != len(messages) || len(debezium) != len(messages)+1 {
			t.Errorf("%d records by us and %d by Debezium of %d messages", len(ours), len(debezium), len(messages))
		}
		if what := s.connector.trouble(); what != "" {
			t.Error(what)
		}
	})

	t.Run("writes_what_our_publisher_writes", func(t *testing.T) {
		got := shared(debezium)
		delete(got, last.ID.String())
		if diff := cmp.Diff(shared(ours), got); diff != "" {
			t.Errorf("by us and by Debezium (-us +Debezium):\n%s", diff)
		}
	})

	t.Run("keeps_the_order_of_a_key", func(t *testing.T) {
		want := make(map[string][]string)
		for _, m := range append(slices.Clone(messages), last) {
			want[m.Key] = append(want[m.Key], m.ID.String())
		}
		delete(want, "")
		got := idsByKey(debezium)
		delete(got, "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ids by key (-want +got):\n%s", diff)
		}
	})

	t.Run("adds_its_own_id_and_an_empty_tenant_and_leaves_out_own_headers", func(t *testing.T) {
		i := slices.IndexFunc(debezium, func(r record) bool { return r.id() == messages[11].ID.String() })
		var names []string
		for _, h := range debezium[i].Headers {
			names = append(names, h.Key)
		}
		want := []string{"id", "_watermill_message_uuid", "type", "version", "content-type", "tenant", "created_at"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if got := debezium[i].header("id"); got != messages[11].ID.String() {
			t.Errorf("id = %s, want that of the message, %s", got, messages[11].ID)
		}
		if got := debezium[i].header(outbox.HeaderTenant); got != "" {
			t.Errorf("tenant = %q, want an empty one", got)
		}
	})

	t.Run("lets_the_slot_go_on_while_others_write", func(t *testing.T) {
		s.run(`CREATE TABLE orders AS SELECT n FROM generate_series(1, 1000) n`)
		s.passed(s.name)
	})
}
