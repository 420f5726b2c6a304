package main

import (
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

// Wire names of the events, which a renamed Go type does not change.
const (
	orderPlaced    = "OrderPlaced"
	orderCancelled = "OrderCancelled"
)

// orderPlacedEvent is version 1 of its body.
type orderPlacedEvent struct {
	OrderID    uuid.UUID `json:"order_id"`
	Customer   string    `json:"customer"`
	TotalCents int64     `json:"total_cents"`
	Items      []Item    `json:"items"`
}

// orderCancelledEvent is version 1 of its body.
type orderCancelledEvent struct {
	OrderID  uuid.UUID `json:"order_id"`
	Customer string    `json:"customer"`
}

// newRegistry keys events by customer: what happens to a customer's orders arrives in the order in which it happened.
func newRegistry(topic string) (*outbox.Registry, error) {
	return outbox.NewRegistry(
		outbox.Event[orderPlacedEvent]{
			Type: orderPlaced, Topic: topic, Key: func(e orderPlacedEvent) string { return e.Customer },
		},
		outbox.Event[orderCancelledEvent]{
			Type: orderCancelled, Topic: topic, Key: func(e orderCancelledEvent) string { return e.Customer },
		},
	)
}

// openStore returns the outbox on db, and a Watermill EventBus into it.
func openStore(db *gorm.DB, topic string, m monitor) (*gormstore.Store, *cqrs.EventBus, error) {
	registry, err := newRegistry(topic)
	if err != nil {
		return nil, nil, err
	}
	// Two orders of a customer lock nothing that they share, so Enqueue has to lock the key.
	store, err := gormstore.Open(db, gormstore.Config{StrictKeys: true, Registry: registry, Headers: m.Headers})
	if err != nil {
		return nil, nil, err
	}
	publisher := watermilladapter.NewPublisher(store, watermilladapter.PublisherConfig{})
	bus, err := cqrs.NewEventBusWithConfig(publisher, watermilladapter.EventBusConfig(registry))
	return store, bus, err
}
