package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// app is an application inside the test: a store on a database, and a topic.
type app struct {
	database *database
	db       *gorm.DB
	store    *gormstore.Store
	broker   broker
	topic    string
}

// newApp gives an application a topic that declare has made.
func newApp(t *testing.T, c combination, declare func(t *testing.T, b broker) (topic string)) *app {
	t.Helper()
	a := &app{database: c.database(t), broker: c.broker(t)}
	a.database.migrate(t)
	a.db, a.store = a.database.store(t)
	a.topic = declare(t, a.broker)
	return a
}

// message is the nth of a key.
func (a *app) message(t *testing.T, key string, n int) *outbox.Message {
	t.Helper()
	payload, err := json.Marshal(body{key, n})
	must(t, err)
	return &outbox.Message{
		ID: uuid.Must(uuid.NewV7()), Topic: a.topic, Key: key, Type: "OrderPlaced",
		ContentType: "application/json", Payload: payload,
	}
}

// commit stores messages in one transaction.
func (a *app) commit(t *testing.T, messages ...*outbox.Message) {
	t.Helper()
	if err := a.tryCommit(t.Context(), messages...); err != nil {
		t.Fatalf("enqueue %d messages: %v", len(messages), err)
	}
}

func (a *app) tryCommit(ctx context.Context, messages ...*outbox.Message) error {
	return a.store.InTransaction(ctx, func(ctx context.Context) error { return a.store.Enqueue(ctx, messages...) })
}

// relay runs a relay beside the test, until it ends.
func (a *app) relay(t *testing.T, config outbox.RelayConfig) {
	t.Helper()
	config.Logger = slog.New(slog.DiscardHandler)
	relay, err := outbox.NewRelay(a.store, a.broker.publisher(t), config)
	must(t, err)
	runRelay(t, relay)
}

// runRelay runs a relay until the test ends.
func runRelay(t *testing.T, relay *outbox.Relay) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the relay ended with %v", err)
		}
	})
}
