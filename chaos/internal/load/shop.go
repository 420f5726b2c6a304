package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/verify"
)

// Shop is customers of the example shop at an address. Each sends an order again, under its Idempotency-Key, until it
// has been placed, and then the next one: so the order of a customer's events is known.
type Shop struct {
	Address   string
	Customers int
	Pause     time.Duration // between two orders of a customer
	Journal   *verify.Writer
}

// longestOrder is how long an order may take, through all that happens to the database and to the shop.
const longestOrder = 2 * time.Minute

// Run places orders until ctx ends, and sees those that were begun through.
func (s *Shop) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for n := range s.Customers {
		group.Go(func() error { return s.serve(ctx, fmt.Sprintf("c-%d", n)) })
	}
	return group.Wait()
}

func (s *Shop) serve(ctx context.Context, customer string) error {
	for n := int64(1); wait.For(ctx, s.Pause); n++ {
		id, err := s.order(context.WithoutCancel(ctx), customer)
		if err != nil {
			return fmt.Errorf("order %d of %s: %w", n, customer, err)
		}
		r := verify.Record{
			Kind: verify.Committed, ID: id, Topic: wire.Orders, Key: customer, Order: n, At: time.Now(),
		}
		if err := s.Journal.Write(r); err != nil {
			return fmt.Errorf("keep the journal: %w", err)
		}
	}
	return nil
}

// order places one order and returns its id.
func (s *Shop) order(ctx context.Context, customer string) (id uuid.UUID, err error) {
	key := uuid.NewString()
	err = wait.Until(ctx, longestOrder, "the order is placed", func(ctx context.Context) (bool, error) {
		id, err = s.send(ctx, customer, key)
		return err == nil, err
	})
	return id, err
}

func (s *Shop) send(ctx context.Context, customer, key string) (uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body := fmt.Sprintf(`{"customer":%q,"items":[{"sku":"book","quantity":1,"unit_price_cents":100}]}`, customer)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Address+"/orders", bytes.NewBufferString(body))
	if err != nil {
		return uuid.Nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return uuid.Nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return uuid.Nil, err
	}
	if answer.StatusCode != http.StatusCreated {
		return uuid.Nil, fmt.Errorf("the shop answered %s: %s", answer.Status, text)
	}
	var order struct {
		ID uuid.UUID `json:"id"`
	}
	return order.ID, json.Unmarshal(text, &order)
}
