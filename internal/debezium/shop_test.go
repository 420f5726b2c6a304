//go:build soak

package debezium

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// shop is an application with a database and a topic of its own.
type shop struct {
	server
	topic
	page
	testing.TB
	name      string
	url       *url.URL
	db        *gorm.DB
	store     *gormstore.Store
	connector connector
}

// openShop makes the database and what the page tells to make in it.
func openShop(t testing.TB) *shop {
	t.Helper()
	s := &shop{TB: t, server: claimServer(t), page: readPage(t), name: testservices.Name(prefix)}
	s.makeDatabase(s.name)
	var err error
	s.url, err = url.Parse(testservices.Postgres(t))
	must(t, err)
	s.url.Path = "/" + s.name
	s.db, err = gorm.Open(postgres.Open(s.url.String()), &gorm.Config{Logger: logger.Discard})
	must(t, err)
	pool, err := s.db.DB()
	must(t, err)
	t.Cleanup(func() { must(t, pool.Close()) })
	must(t, gormstore.Migrate(t.Context(), s.db, gormstore.MigrateConfig{}))
	s.store, err = gormstore.Open(s.db, gormstore.Config{Logger: quiet})
	must(t, err)
	s.run(s.block("Setting it up", "sql"))
	s.topic = makeTopic(t, s.name, 4)
	makeTopic(t, "__debezium-heartbeat."+s.name, 1)
	return s
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// run executes SQL of the page, with names of the test's own.
func (s *shop) run(text string) {
	s.Helper()
	must(s, s.db.Exec(strings.ReplaceAll(text, "debezium", s.name)).Error)
}

// connect starts the page's connector. A row's change would end it, and not only be logged.
func (s *shop) connect() {
	s.Helper()
	s.connector = startConnector(s, s.name, s.configuration(map[string]string{
		"database.hostname": s.url.Hostname(), "database.port": s.url.Port(), "database.dbname": s.name,
		"database.user": s.name, "slot.name": s.name, "publication.name": s.name, "topic.prefix": s.name,
		"transforms.outbox.table.op.invalid.behavior": "fatal",
	}))
}

// await waits until the topic has n records, while the connector runs, and returns them.
func (s *shop) await(n int) []record {
	s.Helper()
	eventually(s, func() string {
		if what := s.connector.trouble(); what != "" {
			return what
		}
		if length := s.length(); length < n {
			return fmt.Sprintf("the topic has %d of %d records", length, n)
		}
		return ""
	})
	return s.read()
}

// enqueue commits messages, in one transaction.
func (s *shop) enqueue(messages ...*outbox.Message) []*outbox.Message {
	s.Helper()
	for _, m := range messages {
		m.Topic = s.topic.name
	}
	must(s, s.store.Transaction(s.Context(), func(tx *gormstore.Tx) error {
		return tx.Enqueue(s.Context(), messages...)
	}))
	return messages
}

// orders commits n messages whose keys take turns, each in a transaction.
func (s *shop) orders(from, n int) (ids []string) {
	s.Helper()
	for i := from; i < from+n; i++ {
		key := fmt.Sprintf("order-%d", i%3)
		m := s.enqueue(&outbox.Message{Key: key, Type: "order.changed", Payload: fmt.Append(nil, i)})
		ids = append(ids, m[0].ID.String())
	}
	return ids
}

// relay runs a relay until the table is empty.
func (s *shop) relay(wrap func(outbox.Publisher) outbox.Publisher) {
	s.Helper()
	publisher, err := kafka.Open(kafka.Config{Brokers: testservices.Kafka(s)})
	must(s, err)
	defer publisher.Close()
	policy := outbox.Policy{MinBackoff: time.Millisecond}
	relay, err := outbox.NewRelay(s.store, wrap(publisher), outbox.RelayConfig{Policy: policy, Logger: quiet})
	must(s, err)
	ctx, cancel := context.WithCancel(s.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := relay.Run(ctx); err != nil {
			s.Errorf("run the relay: %v", err)
		}
	})
	defer wg.Wait()
	defer cancel()
	eventually(s, func() string {
		var n int64
		must(s, s.db.Table("outbox_messages").Count(&n).Error)
		if n > 0 {
			return fmt.Sprintf("%d messages are left", n)
		}
		return ""
	})
}

func asItIs(p outbox.Publisher) outbox.Publisher { return p }

// reluctant refuses each message once, so that the relay changes its row before it deletes it.
type reluctant struct {
	outbox.Publisher
	mu      sync.Mutex
	refused map[string]bool
}

func (r *reluctant) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	results := make([]outbox.Result, len(messages))
	var again []*outbox.Message
	var places []int
	for i, m := range messages {
		if id := m.ID.String(); r.refused[id] {
			again, places = append(again, m), append(places, i)
		} else {
			r.refused[id] = true
			results[i] = outbox.Failed(nil)
		}
	}
	if len(again) > 0 {
		for i, result := range r.Publisher.Publish(ctx, again) {
			results[places[i]] = result
		}
	}
	return results
}
