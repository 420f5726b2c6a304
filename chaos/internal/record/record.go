// Package record reads the topics of a trial and notes every delivery with its place in the broker's order.
package record

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/verify"
)

// Recorder reads until it is closed, through all that happens to the broker.
type Recorder interface {
	// Drained reports whether all that the broker holds has been noted.
	Drained(ctx context.Context) (bool, error)
	// Include starts to read a topic that did not exist before.
	Include(topic string)
	// Delivered counts what was noted.
	Delivered() int
	// Close ends reading, and returns why something could not be noted.
	Close() error
}

// Topics are those that exist from the beginning.
func Topics() []string { return []string{wire.Main, wire.Fragile, wire.Orders} }

// notebook notes deliveries.
type notebook struct {
	history *verify.Writer
	noted   atomic.Int64
}

// note writes a delivery down. What has no id of ours is not left out: the verifier shall complain of it.
func (n *notebook) note(r verify.Record, id, kind string, body []byte) (err error) {
	r.Kind = verify.Delivered
	if r.ID, err = identify(id, kind, body); err != nil {
		return fmt.Errorf("identify the message at %s %d: %w", r.Stream, r.Offset, err)
	}
	n.noted.Add(1)
	return n.history.Write(r)
}

// Delivered counts what was noted.
func (n *notebook) Delivered() int { return int(n.noted.Load()) }

// identify returns the id by which the writer's journal knows a message: its own, or for an event of the shop, whose
// id the customer never learns, that of its order.
func identify(id, kind string, body []byte) (uuid.UUID, error) {
	if kind != wire.OrderPlaced {
		return uuid.Parse(id)
	}
	var event struct {
		OrderID uuid.UUID `json:"order_id"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return uuid.Nil, err
	}
	return event.OrderID, nil
}
