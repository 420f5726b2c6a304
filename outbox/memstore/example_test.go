package memstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// What commits is there, what rolls back is not.
func Example() {
	ctx, store := context.Background(), memstore.New(memstore.Config{})

	place := func(customer string, end error) error {
		return store.InTransaction(ctx, func(ctx context.Context) error {
			err := store.Enqueue(ctx, &outbox.Message{Topic: "orders", Key: customer, Type: "OrderPlaced"})
			return errors.Join(err, end)
		})
	}
	fmt.Println(place("c-1", nil), store.Pending())
	fmt.Println(place("c-2", errors.New("out of stock")), store.Pending())
	// Output:
	// <nil> 1
	// out of stock 1
}
