package main

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// Order is a placed order, in the table and in answers.
type Order struct {
	gormstore.Events `json:"-"`

	ID         uuid.UUID `gorm:"type:uuid;primaryKey" json:"id"`
	Customer   string    `gorm:"not null"             json:"customer"`
	TotalCents int64     `gorm:"not null"             json:"total_cents"`
	Status     string    `gorm:"not null"             json:"status"`
	Items      []Item    `json:"-"`
	CreatedAt  time.Time `gorm:"not null"             json:"-"`
}

// Item is one line of an order.
type Item struct {
	OrderID        uuid.UUID `gorm:"type:uuid;primaryKey"          json:"-"`
	Line           int       `gorm:"primaryKey;autoIncrement:false" json:"-"`
	SKU            string    `gorm:"not null"                      json:"sku"`
	Quantity       int64     `gorm:"not null"                      json:"quantity"`
	UnitPriceCents int64     `gorm:"not null"                      json:"unit_price_cents"`
}

// What an order's status may be.
const (
	placed    = "placed"
	cancelled = "cancelled"
)

// place notes that the order was placed. Saving it stores the event.
func (o *Order) place() {
	o.Status = placed
	o.Raise(orderPlacedEvent{o.ID, o.Customer, o.TotalCents, o.Items})
}

// newOrder is the body of a request.
type newOrder struct {
	Customer string `json:"customer"`
	Items    []Item `json:"items"`
}

const (
	maxName  = 100 // bytes of a customer or SKU
	maxItems = 100
)

// order checks a request and returns the order that it asks for.
func (n newOrder) order() (Order, error) {
	if err := checkName("customer", n.Customer); err != nil {
		return Order{}, err
	}
	if len(n.Items) < 1 || len(n.Items) > maxItems {
		return Order{}, invalid("items: give 1 to %d", maxItems)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Order{}, err
	}
	o := Order{ID: id, Customer: n.Customer, Items: n.Items}
	for i, item := range n.Items {
		if err := o.add(item); err != nil {
			return Order{}, fmt.Errorf("items[%d]: %w", i, err)
		}
		o.Items[i].Line = i + 1
	}
	o.place()
	return o, nil
}

// add checks an item and counts it in.
func (o *Order) add(item Item) error {
	if err := checkName("sku", item.SKU); err != nil {
		return err
	}
	switch {
	case item.Quantity < 1:
		return invalid("quantity: give at least 1")
	case item.UnitPriceCents < 0:
		return invalid("unit_price_cents: give at least 0")
	case item.UnitPriceCents > (math.MaxInt64-o.TotalCents)/item.Quantity:
		return invalid("the total is too large")
	}
	o.TotalCents += item.Quantity * item.UnitPriceCents
	return nil
}

func checkName(field, s string) error {
	if strings.TrimSpace(s) == "" || len(s) > maxName || strings.ContainsFunc(s, unicode.IsControl) {
		return invalid("%s: give 1 to %d bytes without control characters", field, maxName)
	}
	return nil
}

// orders is the HTTP side of the shop.
type orders struct {
	db    *gorm.DB
	store *gormstore.Store
	bus   *cqrs.EventBus
}

// place writes the order, and with it the event that it has raised, in the transaction of the request.
func (s orders) place(w http.ResponseWriter, r *http.Request) error {
	var asked newOrder
	if err := readJSON(w, r, &asked); err != nil {
		return err
	}
	order, err := asked.order()
	if err != nil {
		return err
	}
	tx, ok := s.store.FromContext(r.Context())
	if !ok {
		return outbox.ErrNoTransaction
	}
	if err := tx.Create(&order).Error; err != nil {
		return err
	}
	w.Header().Set("Location", "/orders/"+order.ID.String())
	return writeJSON(w, http.StatusCreated, order)
}

func (s orders) get(w http.ResponseWriter, r *http.Request) error {
	var order Order
	if err := findByID(s.db, r, "id", "id", &order); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, order)
}

// findByID reads the row whose column is the path's parameter.
func findByID(db *gorm.DB, r *http.Request, parameter, column string, row any) error {
	id, err := uuid.Parse(chi.URLParam(r, parameter))
	if err != nil {
		return notFound(parameter) // what is no id names nothing
	}
	err = db.WithContext(r.Context()).Where(map[string]any{column: id}).Take(row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return notFound(parameter)
	}
	return err
}
