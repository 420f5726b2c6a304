package gormstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/outboxtest"
)

// Order is a business row.
type Order struct {
	ID       string `gorm:"primaryKey"`
	Customer string
}

// orderPlaced is the event of an order; the messages of one customer stay in order.
func orderPlaced(o Order) *outbox.Message {
	return &outbox.Message{
		Topic:       "orders",
		Key:         o.Customer,
		Type:        "order.placed",
		ContentType: "application/json",
		Payload:     fmt.Appendf(nil, `{"id":%q}`, o.ID),
	}
}

// openExample opens an empty database in memory, with the tables of the example.
func openExample(ctx context.Context) *gorm.DB {
	db, err := gorm.Open(sqlite.Open(":memory:?_pragma=busy_timeout(1000)"))
	if err != nil {
		panic(err)
	}
	pool, err := db.DB()
	if err != nil {
		panic(err)
	}
	pool.SetMaxOpenConns(1) // the database lives in its one connection
	if err := db.AutoMigrate(&Order{}); err != nil {
		panic(err)
	}
	if err := gormstore.Migrate(ctx, db, gormstore.MigrateConfig{}); err != nil {
		panic(err)
	}
	return db
}

// The order and its message are stored together, or neither is.
func ExampleStore_Transaction() {
	ctx := context.Background()
	db := openExample(ctx)

	store, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		panic(err)
	}

	order := Order{ID: "o-1", Customer: "c-1"}
	err = store.Transaction(ctx, func(tx *gormstore.Tx) error {
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		return tx.Enqueue(ctx, orderPlaced(order))
	})
	fmt.Println("stored:", err == nil)

	err = store.Enqueue(ctx, orderPlaced(order)) // outside a transaction
	fmt.Println(err)
	// Output:
	// stored: true
	// outbox: no transaction in this context: enqueue inside the store's transaction
}

// A consumer that is given a message twice, whatever brings it, does its work once.
func ExampleStore_Once() {
	ctx := context.Background()
	db := openExample(ctx)

	store, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		panic(err)
	}

	receive := func(id string, order Order) {
		handled, err := store.Once(ctx, "billing", id, func(ctx context.Context) error {
			tx, _ := store.FromContext(ctx)
			return tx.Create(&order).Error // and whatever else belongs to it
		})
		fmt.Println("handled:", handled, err)
	}
	receive("0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a10", Order{ID: "o-1"})
	receive("0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a10", Order{ID: "o-1"})
	// Output:
	// handled: true <nil>
	// handled: false <nil>
}

// A transaction that the application opens with GORM itself serves as well.
func ExampleStore_In() {
	ctx := context.Background()
	db := openExample(ctx)

	store, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		panic(err)
	}

	order := Order{ID: "o-2", Customer: "c-1"}
	message := orderPlaced(order)
	err = db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		return store.In(tx).Enqueue(ctx, message)
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("stored with an id:", message.ID.Version())
	// Output:
	// stored with an id: VERSION_7
}

// Basket is a model that raises events. Its domain code knows no database and no topic.
type Basket struct {
	gormstore.Events
	ID       string `gorm:"primaryKey"`
	Customer string
	Items    int
}

// BasketFilled is what happens to a basket.
type BasketFilled struct {
	Customer string `json:"-"`
	Items    int    `json:"items"`
}

// Fill puts items into the basket.
func (b *Basket) Fill(items int) {
	b.Items += items
	b.Raise(BasketFilled{b.Customer, b.Items})
}

// Events that a model has raised are stored with it, by whatever saves it.
func ExampleEvents() {
	ctx := context.Background()
	db := openExample(ctx)
	registry, err := outbox.NewRegistry(outbox.Event[BasketFilled]{
		Type: "basket.filled", Topic: "baskets", Key: func(e BasketFilled) string { return e.Customer },
	})
	if err != nil {
		panic(err)
	}
	store, err := gormstore.Open(db, gormstore.Config{Registry: registry})
	if err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Basket{}); err != nil {
		panic(err)
	}

	basket := Basket{ID: "b-1", Customer: "c-1"}
	basket.Fill(2)
	err = store.Transaction(ctx, func(tx *gormstore.Tx) error { return tx.Create(&basket).Error })
	messages, err2 := outboxtest.Enqueued(ctx, store)
	for _, m := range messages {
		fmt.Println(m.Topic, m.Key, m.Type, string(m.Payload))
	}
	fmt.Println(errors.Join(err, err2), len(basket.Raised()))
	// Output:
	// baskets c-1 basket.filled {"items":2}
	// <nil> 0
}

// Customer is a plain model that knows of no events.
type Customer struct {
	ID   string `gorm:"primaryKey"`
	Name string
}

// Each row that a statement changes makes a message, with its real key, also where GORM's hooks see nothing.
func ExampleCapture() {
	ctx := context.Background()
	db := openExample(ctx)
	store, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Customer{}); err != nil {
		panic(err)
	}
	renamed := func(_ context.Context, c *Customer) (*outbox.Message, error) {
		return &outbox.Message{Topic: "customers", Key: c.ID, Type: "customer.renamed", Payload: []byte(c.Name)}, nil
	}
	if err := gormstore.Capture(store, gormstore.CaptureConfig[Customer]{Updated: renamed}); err != nil {
		panic(err)
	}

	db.Create([]Customer{{ID: "c-1", Name: "Ada"}, {ID: "c-2", Name: "Bob"}, {ID: "c-3", Name: "Ada"}})
	err = db.Model(&Customer{}).Where("name = ?", "Ada").Update("name", "Ada L.").Error
	messages, err2 := outboxtest.Enqueued(ctx, store)
	for _, m := range messages {
		fmt.Println(m.Type, m.Key, string(m.Payload))
	}
	fmt.Println(errors.Join(err, err2))
	// Unordered output:
	// customer.renamed c-1 Ada L.
	// customer.renamed c-3 Ada L.
	// <nil>
}
