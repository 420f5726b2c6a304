package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// broker refuses some payloads until it is mended, and remembers what it took.
type broker struct {
	mu     sync.Mutex
	broken bool
	got    []string
}

func (b *broker) publish(_ context.Context, m *outbox.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken && strings.HasPrefix(string(m.Payload), "bad") {
		return outbox.Permanent(errors.New("schema registry says no"))
	}
	b.got = append(b.got, string(m.Payload))
	return nil
}

func (b *broker) taken() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

func (b *broker) mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = false
}

// openStore opens a store in a schema of its own, which goes with the test.
func openStore(t testing.TB) (*gorm.DB, *gormstore.Store) {
	t.Helper()
	schema, address := testservices.Name("dashboard"), testservices.Postgres(t)
	admin := connect(t, address)
	if err := admin.Exec("CREATE SCHEMA " + schema).Error; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Exec("DROP SCHEMA " + schema + " CASCADE").Error; err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	db := connect(t, u.String())
	if err := gormstore.Migrate(t.Context(), db, gormstore.MigrateConfig{}); err != nil {
		t.Fatal(err)
	}
	store, err := gormstore.Open(db, gormstore.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return db, store
}

func connect(t testing.TB, address string) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(postgres.Open(address), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// runRelay relays until the test ends.
func runRelay(t *testing.T, store *gormstore.Store, b *broker) *outbox.Relay {
	t.Helper()
	relay, err := outbox.NewRelay(store, outbox.PublisherFunc(b.publish), outbox.RelayConfig{ID: "relay-1", Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return relay
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// On a real store and in a real browser, two messages are parked; one is requeued when the broker is mended, and one is
// discarded.
func TestOperator(t *testing.T) {
	t.Parallel()
	t.Run("requeues_and_discards_on_PostgreSQL_and_it_is_recorded", func(t *testing.T) {
		t.Parallel()
		db, store := openStore(t)
		broker := &broker{broken: true}
		relay := runRelay(t, store, broker)
		d := newDashboard(t, store, func(c *dashboard.Config) { c.Relays = []dashboard.Relay{relay} })
		b := openTab(t, serve(t, d))

		var messages []*outbox.Message
		for n, payload := range []string{"bad 1", "good 1", "bad 2", "good 2"} {
			messages = append(messages, &outbox.Message{
				Topic: "orders", Key: fmt.Sprint("customer-", n/2), Type: "OrderPlaced", Payload: []byte(payload),
			})
		}
		if err := store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
			return tx.Enqueue(t.Context(), messages...)
		}); err != nil {
			t.Fatal(err)
		}
		await(t, "two parked messages", func() bool {
			found, err := store.Find(t.Context(), outbox.Filter{Status: outbox.StatusParked}, 0, 10)
			return err == nil && len(found) == 2
		})
		wantStory(t, b)

		broker.mend()
		b.open("/messages/" + messages[0].ID.String())
		b.click("a.button.primary")
		b.fill("#a-reason", "the schema is registered")
		b.click("main form button[type=submit]")
		if text := b.text("main"); !strings.Contains(text, "Requeued 1 message.") {
			t.Errorf("the page shows\n%s", text)
		}
		await(t, "the requeued message and the one behind it", func() bool { return len(broker.taken()) == 2 })

		b.open("/failures")
		b.click(".groups a.danger")
		b.fill("#a-reason", "the customer is gone")
		b.click("main form button[type=submit]")
		if text := b.text("main"); !strings.Contains(text, "Discarded 1 message.") {
			t.Errorf("the page shows\n%s", text)
		}
		await(t, "the message behind the one that was discarded", func() bool { return len(broker.taken()) == 3 })
		if d := cmp.Diff([]string{"bad 1", "good 1", "good 2"}, broker.taken()); d != "" {
			t.Errorf("the broker got (-want +got):\n%s", d)
		}
		wantAudit(t, db, messages)
		if text := b.open("/messages/" + messages[2].ID.String()); !strings.Contains(text, "Discarded by on-call") {
			t.Errorf("what is left of the discarded message is\n%s", text)
		}
		b.wantCalm()
	})
}

// wantStory checks what the pages show of two messages that are parked, and the two behind them.
func wantStory(t *testing.T, b *tab) {
	t.Helper()
	for path, wants := range map[string][]string{
		"/":         {"2 messages are parked", "2 messages are held", "Parked\n2", "Held\n2"},
		"/failures": {"2 ", "schema registry says no"},
		"/held":     {"customer-0", "customer-1"},
		"/relays":   {"relay-1", "alive", "64: 0–63", "ready"},
		"/pauses":   {"Nothing is paused."},
		"/audit":    {"Nobody has done anything yet."},
	} {
		text := b.open(path)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", path, want, text)
			}
		}
	}
}

// wantAudit reads the table itself.
func wantAudit(t *testing.T, db *gorm.DB, messages []*outbox.Message) {
	t.Helper()
	type entry struct{ Act, By, Reason, Message, Topic, Key string }
	var got []entry
	if err := db.Table("outbox_audit").Order("id").Find(&got).Error; err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{"requeue", "on-call", "the schema is registered", messages[0].ID.String(), "orders", "customer-0"},
		{"discard", "on-call", "the customer is gone", messages[2].ID.String(), "orders", "customer-1"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("audit (-want +got):\n%s", d)
	}
}
