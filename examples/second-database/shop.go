package seconddatabase

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// Order is a row of the database of orders.
type Order struct {
	ID       string `gorm:"primaryKey"`
	Customer string `gorm:"not null"`
}

// Reservation is a row of the database of the stock.
type Reservation struct {
	OrderID string `gorm:"primaryKey"`
}

// Shop has three outboxes in two databases.
type Shop struct {
	orders, mails, stock *gormstore.Store
}

// Open makes the tables of all three outboxes. The handles are of different databases.
func Open(ctx context.Context, orders, stock *gorm.DB) (*Shop, error) {
	shop := new(Shop)
	for _, o := range []struct {
		store *(*gormstore.Store)
		db    *gorm.DB
		name  string // the prefix of its tables; stores of one handle need different ones
	}{
		{&shop.orders, orders, "outbox"},
		{&shop.mails, orders, "mails"},
		{&shop.stock, stock, "outbox"},
	} {
		if err := gormstore.Migrate(ctx, o.db, gormstore.MigrateConfig{Name: o.name, Lanes: 8}); err != nil {
			return nil, fmt.Errorf("make the tables of outbox %s: %w", o.name, err)
		}
		// Two orders of a customer lock nothing that they share, so Enqueue has to lock the key.
		store, err := gormstore.Open(o.db, gormstore.Config{Name: o.name, StrictKeys: true})
		if err != nil {
			return nil, fmt.Errorf("open outbox %s: %w", o.name, err)
		}
		*o.store = store
	}
	return shop, errors.Join(orders.AutoMigrate(&Order{}), stock.AutoMigrate(&Reservation{}))
}

// PlaceOrder writes an order, and a message to each outbox of its database, in one transaction.
func (s *Shop) PlaceOrder(ctx context.Context, order Order) error {
	return s.orders.Transaction(ctx, func(tx *gormstore.Tx) error {
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		placed := &outbox.Message{Topic: "orders", Key: order.Customer, Type: "OrderPlaced", Payload: []byte(order.ID)}
		mail := &outbox.Message{Topic: "mails", Type: "ConfirmOrder", Payload: []byte(order.ID)}
		return errors.Join(tx.Enqueue(ctx, placed), s.mails.In(tx.DB).Enqueue(ctx, mail))
	})
}

// Reserve handles an OrderPlaced once, in the database of the stock. A consumer of topic orders calls it.
func (s *Shop) Reserve(ctx context.Context, placed *outbox.Message) error {
	_, err := s.stock.Once(ctx, "reserve", placed.ID.String(), func(ctx context.Context) error {
		tx, ok := s.stock.FromContext(ctx)
		if !ok {
			return outbox.ErrNoTransaction
		}
		if err := tx.Create(&Reservation{OrderID: string(placed.Payload)}).Error; err != nil {
			return err
		}
		return tx.Enqueue(ctx, &outbox.Message{
			Topic: "stock", Key: placed.Key, Type: "GoodsReserved", Payload: placed.Payload,
		})
	})
	return err
}

// Relay runs a relay for each outbox, with a policy of its own, until ctx ends or one of them fails.
func (s *Shop) Relay(ctx context.Context, publisher outbox.Publisher) error {
	var relays []*outbox.Relay
	for store, policy := range map[*gormstore.Store]outbox.Policy{
		s.orders: {},
		s.mails:  {MaxAttempts: 3, OnExhausted: outbox.Skip}, // a mail that cannot go out is set aside
		s.stock:  {},
	} {
		relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{Workers: 1, Policy: policy})
		if err != nil {
			return err
		}
		relays = append(relays, relay)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, relay := range relays {
		group.Go(func() error { return relay.Run(ctx) })
	}
	return group.Wait()
}
