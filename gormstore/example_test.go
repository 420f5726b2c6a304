package gormstore_test

import (
	"context"
	"fmt"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
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
