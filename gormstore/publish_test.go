package gormstore_test

import (
	"context"
	"sync"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// TestPublish is about what the database sees while a relay waits for the broker.
func TestPublish(t *testing.T) {
	t.Parallel()
	t.Run("holds_no_transaction_open", func(t *testing.T) {
		t.Parallel()
		watcher := newFixture(t, openPostgres(t, gorm.Config{}), 1, gormstore.Config{})
		name := testservices.Name("relay")
		address := withParameter(t, postgresAddress(t), "application_name", name)
		f := newFixture(t, open(t, postgres.Open(address), gorm.Config{}), 64, gormstore.Config{})
		f.enqueue("a", "b", "c", "d")

		publishing, answer := make(chan struct{}, 4), make(chan struct{})
		relay, err := outbox.NewRelay(f.store, outbox.PublisherFunc(func(context.Context, *outbox.Message) error {
			publishing <- struct{}{}
			<-answer
			return nil
		}), outbox.RelayConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended, accept := make(chan error, 1), sync.OnceFunc(func() { close(answer) })
		go func() { ended <- relay.Run(ctx) }()
		t.Cleanup(func() {
			accept()
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		<-publishing

		// Renewals go on beside the publish, so there may be a short transaction at any one look.
		watcher.eventually("a moment without a transaction of the relay", func() bool {
			var open int
			err := watcher.db.Raw(`SELECT count(*) FROM pg_stat_activity
				WHERE application_name = ? AND xact_start IS NOT NULL`, name).Scan(&open).Error
			if err != nil {
				t.Fatal(err)
			}
			return open == 0
		})
		accept()
		f.eventually("everything delivered", func() bool { return f.count("outbox_messages") == 0 })
	})
}
