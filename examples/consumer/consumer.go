package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

const (
	handler    = "billing" // under which the inbox remembers what was handled: never rename it
	retryPause = time.Second
)

// Invoice is what a customer owes for an order.
type Invoice struct {
	ID      uuid.UUID `gorm:"type:uuid;primaryKey"`
	OrderID string    `gorm:"not null"`
	Cents   int64     `gorm:"not null"`
}

// order is what another service says about an order; invoiceIssued is what this one says about an invoice.
type (
	order struct {
		ID       string `json:"id"`
		Customer string `json:"customer"`
		Cents    int64  `json:"total_cents"`
	}
	invoiceIssued struct {
		InvoiceID uuid.UUID `json:"invoice_id"`
		OrderID   string    `json:"order_id"`
	}
)

// consumer bills orders.
type consumer struct {
	client *kgo.Client // of a group, without automatic commits
	store  *gormstore.Store
}

// run reads until ctx ends. Records are handled one by one, in the order of their partition, and their offsets are
// committed afterwards.
func (c consumer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		fetches := c.client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			if !errors.Is(err, context.Canceled) {
				slog.Warn("consumer cannot read", "topic", topic, "partition", partition, "error", err)
			}
		})
		for record := range fetches.RecordsAll() {
			if err := c.handleUntilDone(ctx, record); err != nil {
				return nil // ctx has ended; what is not committed comes again
			}
		}
		if err := c.client.CommitUncommittedOffsets(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("consumer cannot commit its offsets, so records may come again", "error", err)
		}
	}
	return nil
}

// handleUntilDone tries a record until it is handled or ctx ends, because later records of its key must not pass it.
func (c consumer) handleUntilDone(ctx context.Context, record *kgo.Record) error {
	for {
		err := c.handle(ctx, record)
		if err == nil {
			return nil
		}
		slog.Warn("consumer tries again", "partition", record.Partition, "offset", record.Offset, "error", err)
		pause := time.NewTimer(retryPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// handle bills an order once for each message id.
func (c consumer) handle(ctx context.Context, record *kgo.Record) error {
	if header(record, outbox.HeaderType) != "OrderPlaced" {
		return nil
	}
	var placed order
	id := header(record, outbox.HeaderID)
	err := errors.Join(json.Unmarshal(record.Value, &placed), outbox.CheckHandled(handler, id))
	if err != nil {
		slog.Error("consumer dropped a record that is no order, or has no id",
			"partition", record.Partition, "offset", record.Offset, "error", err)
		return nil // no try would ever go well
	}
	handled, err := c.store.Once(ctx, handler, id, func(ctx context.Context) error {
		return c.bill(ctx, placed)
	})
	if err != nil {
		return err
	}
	slog.Info("consumer is done with an order", "order", placed.ID, "billed_now", handled)
	return nil
}

// bill writes the invoice and its event, in the transaction of ctx.
func (c consumer) bill(ctx context.Context, placed order) error {
	tx, ok := c.store.FromContext(ctx)
	if !ok {
		return outbox.ErrNoTransaction
	}
	invoice := Invoice{ID: uuid.New(), OrderID: placed.ID, Cents: placed.Cents}
	if err := tx.Create(&invoice).Error; err != nil {
		return err
	}
	body, err := json.Marshal(invoiceIssued{invoice.ID, placed.ID})
	if err != nil {
		return fmt.Errorf("encode the event of invoice %s: %w", invoice.ID, err)
	}
	return tx.Enqueue(ctx, &outbox.Message{
		Topic: "invoices", Key: placed.Customer, Type: "InvoiceIssued", ContentType: "application/json", Payload: body,
	})
}

// header returns the value of a record's header, or "".
func header(record *kgo.Record, name string) string {
	for _, h := range record.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}
