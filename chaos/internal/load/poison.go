package load

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// followers wait behind a message that cannot be delivered.
const followers = 3

// writePoison commits a message that cannot be delivered as things are, and others behind it, under a key of their own.
func (w *writer) writePoison(ctx context.Context) error {
	t := transaction{id: uuid.New()}
	key := fmt.Sprintf("p-%s", t.id)
	kinds := []string{wire.Nowhere, wire.Fatal}
	if w.config.Kafka {
		kinds = append(kinds, wire.Large)
	}
	kind := kinds[w.rand.IntN(len(kinds))]
	topic := wire.Main
	if kind == wire.Nowhere {
		topic = wire.Nowhere
	}
	return w.transact(ctx, &t, func(ctx context.Context, tx *gormstore.Tx) error {
		first := w.message(&t, topic, key, 1)
		switch kind {
		case wire.Fatal:
			first.Type = wire.Fatal
		case wire.Large:
			first.Type, first.Payload = wire.Large, w.noise(2*wire.MaxMessage)
		}
		messages := []*outbox.Message{first}
		for i := range followers {
			messages = append(messages, w.message(&t, topic, key, int64(i+2)))
		}
		return tx.Enqueue(ctx, messages...)
	})
}

// Hold commits messages of a new key after d, so that they come with numbers that are older than many others.
func (l *Load) Hold(ctx context.Context, d time.Duration) error {
	t := transaction{id: uuid.New()}
	w := newWriter(l, holder)
	return w.transact(ctx, &t, func(inner context.Context, tx *gormstore.Tx) error {
		var messages []*outbox.Message
		for i := range followers {
			messages = append(messages, w.message(&t, wire.Main, "h-"+t.id.String(), int64(i+1)))
		}
		if err := tx.Enqueue(inner, messages...); err != nil {
			return err
		}
		wait.For(ctx, d)
		return nil
	})
}

// holder is a writer that has no number of its own.
const holder = 1 << 20
