package seconddatabase_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	seconddatabase "github.com/postroom/postroom/examples/second-database"
	"github.com/postroom/postroom/outbox"
)

const patience = 30 * time.Second

// bus is a broker that hands OrderPlaced to the stock, twice, refuses mails, and tells of the rest.
type bus struct {
	shop *seconddatabase.Shop
	sent chan *outbox.Message
}

func (b *bus) publish(ctx context.Context, m *outbox.Message) error {
	switch m.Topic {
	case "mails":
		return outbox.Permanent(errors.New("no such mailbox"))
	case "orders":
		if err := errors.Join(b.shop.Reserve(ctx, m), b.shop.Reserve(ctx, m)); err != nil {
			return err
		}
	}
	b.sent <- m
	return nil
}

func TestShop(t *testing.T) {
	t.Parallel()
	orders, stock := openDatabase(t), openDatabase(t)
	shop, err := seconddatabase.Open(t.Context(), orders, stock)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("writes_to_both_outboxes_of_a_database_or_to_none", func(t *testing.T) {
		if err := shop.PlaceOrder(t.Context(), seconddatabase.Order{ID: "o-1", Customer: "c-1"}); err != nil {
			t.Fatal(err)
		}
		if err := shop.PlaceOrder(t.Context(), seconddatabase.Order{ID: "o-1", Customer: "c-1"}); err == nil {
			t.Error("the same order was placed twice")
		}
		for _, table := range []string{"orders", "outbox_messages", "mails_messages"} {
			if n := count(t, orders, table); n != 1 {
				t.Errorf("%d rows in %s, want one", n, table)
			}
		}
	})
	t.Run("takes_a_message_from_one_database_to_the_other_and_on_once", func(t *testing.T) {
		b := &bus{shop, make(chan *outbox.Message, 10)}
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- shop.Relay(ctx, outbox.PublisherFunc(b.publish)) }()
		types := map[string]int{}
		for range 2 {
			select {
			case m := <-b.sent:
				types[m.Type]++
			case err := <-ended:
				t.Fatalf("the relays ended after %v: %v", types, err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if types["OrderPlaced"] != 1 || types["GoodsReserved"] != 1 || len(b.sent) != 0 {
			t.Errorf("sent %v and %d more, want one OrderPlaced and one GoodsReserved", types, len(b.sent))
		}
		if n := count(t, stock, "reservations"); n != 1 {
			t.Errorf("%d reservations, want one", n)
		}
	})
}

func openDatabase(t *testing.T) *gorm.DB {
	t.Helper()
	const options = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "shop.db")+options), &gorm.Config{Logger: logger.Discard})
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

func count(t *testing.T, db *gorm.DB, table string) int {
	t.Helper()
	var n int64
	if err := db.Table(table).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return int(n)
}
