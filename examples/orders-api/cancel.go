package main

import (
	"net/http"

	"github.com/postroom/postroom/outbox"
)

// cancel takes an order back that was placed. The EventBus writes into the transaction of the request, as everything
// does that gets its context.
func (s orders) cancel(w http.ResponseWriter, r *http.Request) error {
	tx, ok := s.store.FromContext(r.Context())
	if !ok {
		return outbox.ErrNoTransaction
	}
	var order Order
	if err := findByID(tx.DB, r, "id", "id", &order); err != nil {
		return err
	}
	update := tx.Model(&Order{ID: order.ID}).Where("status = ?", placed).Update("status", cancelled)
	if update.Error != nil {
		return update.Error
	}
	if update.RowsAffected == 0 {
		return &problem{Status: http.StatusConflict, Detail: "the order is not placed any more"}
	}
	order.Status = cancelled
	if err := s.bus.Publish(r.Context(), orderCancelledEvent{order.ID, order.Customer}); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, order)
}
