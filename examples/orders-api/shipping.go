package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

// Shipment is written once for each event, which the inbox sees to.
type Shipment struct {
	EventID   uuid.UUID `gorm:"type:uuid;primaryKey"     json:"event_id"`
	OrderID   uuid.UUID `gorm:"type:uuid;not null;index" json:"order_id"`
	CreatedAt time.Time `gorm:"not null"                 json:"-"`
}

const (
	consumerName = "shipping" // under which the inbox remembers what was handled: never rename it
	closeTimeout = 10 * time.Second
	retryPause   = time.Second
)

// shipping is the consumer, which knows orders from their events only.
type shipping struct {
	db    *gorm.DB
	store *gormstore.Store
}

// newRouter returns a Watermill router that feeds shipping.
func newRouter(s shipping, subscriber message.Subscriber, c config) (*message.Router, error) {
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: closeTimeout}, watermillLogger())
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(identified, untilDone, watermilladapter.Inbox(s.store, watermilladapter.InboxConfig{}))
	router.AddConsumerHandler(consumerName, c.topic, subscriber, s.handle)
	return router, nil
}

// identified drops what has no id that the inbox could remember: no try would ever go well.
func identified(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		if err := outbox.CheckHandled(consumerName, m.UUID); err != nil {
			return nil, drop(m, err)
		}
		return next(m)
	}
}

// untilDone tries a message again until it is handled or the consumer stops. Sent back to the broker it would lose its
// place before later ones, and a quorum queue drops what comes back too often.
func untilDone(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		for {
			produced, err := next(m)
			if err == nil {
				return produced, nil
			}
			pause := time.NewTimer(retryPause)
			select {
			case <-m.Context().Done():
				pause.Stop()
				return nil, err
			case <-pause.C:
				slog.Warn("shipping tries again", "message", m.UUID, "error", err)
			}
		}
	}
}

// handle ships an order, in the transaction of the inbox: once for each event id, however often the event comes.
func (s shipping) handle(m *message.Message) error {
	if m.Metadata.Get(outbox.HeaderType) != orderPlaced {
		return nil
	}
	id, err := uuid.Parse(m.UUID)
	if err != nil {
		return drop(m, err)
	}
	var event orderPlacedEvent
	if err := json.Unmarshal(m.Payload, &event); err != nil {
		return drop(m, err)
	}
	return s.ship(m, Shipment{EventID: id, OrderID: event.OrderID})
}

// ship writes the shipment. Whatever else a real shop does here, the inbox guards too.
func (s shipping) ship(m *message.Message, shipment Shipment) error {
	tx, ok := s.store.FromContext(m.Context())
	if !ok {
		return outbox.ErrNoTransaction
	}
	return tx.Create(&shipment).Error
}

// drop gives up on a message that will never be readable.
func drop(m *message.Message, err error) error {
	slog.Error("shipping dropped a message", "message", m.UUID, "error", err)
	return nil
}

func (s shipping) get(w http.ResponseWriter, r *http.Request) error {
	var shipment Shipment
	if err := findByID(s.db, r, "order_id", "order_id", &shipment); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, shipment)
}
