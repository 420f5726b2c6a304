package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/watermilladapter"
)

// delivered is the event of an order as a consumer gets it.
func delivered(t *testing.T, id, kind, payload string) *message.Message {
	t.Helper()
	m := message.NewMessageWithContext(t.Context(), id, message.Payload(payload))
	m.Metadata.Set("type", kind)
	return m
}

// behindInbox is the consumer as the router calls it.
func (s shipping) behindInbox(m *message.Message) error {
	inbox := watermilladapter.Inbox(s.store, watermilladapter.InboxConfig{
		Handler: func(*message.Message) string { return consumerName },
	})
	_, err := identified(inbox(func(m *message.Message) ([]*message.Message, error) { return nil, s.handle(m) }))(m)
	return err
}

// newConsumer is newShop for tests of the consumer.
func newConsumer(t *testing.T) (string, shipping) {
	t.Helper()
	return newShopOn(t, "sqlite:"+filepath.Join(t.TempDir(), "orders.db"))
}

func TestShipping(t *testing.T) {
	t.Parallel()

	t.Run("ships_once_for_each_event_id", func(t *testing.T) {
		t.Parallel()
		shop, s := newConsumer(t)
		event, order := uuid.NewString(), uuid.New()
		for _, id := range []uuid.UUID{order, order, uuid.New()} { // the id of the event says that it is the same
			m := delivered(t, event, orderPlaced, `{"order_id":"`+id.String()+`","colour":"added later"}`)
			if err := s.behindInbox(m); err != nil {
				t.Fatal(err)
			}
		}
		wantRows(t, s.db, map[string]int64{"shipments": 1})
		status, body, _ := send(t, http.MethodGet, shop+"/shipments/"+order.String(), "")
		got := decode[Shipment](t, body)
		if status != http.StatusOK || got.EventID.String() != event || got.OrderID != order {
			t.Errorf("got %d %s", status, body)
		}
	})

	t.Run("ignores_other_types_and_drops_what_it_cannot_read", func(t *testing.T) {
		t.Parallel()
		_, s := newConsumer(t)
		for _, m := range []*message.Message{
			delivered(t, uuid.NewString(), "OrderCancelled", `{}`),
			delivered(t, uuid.NewString(), orderPlaced, `{`),
			delivered(t, "no id", orderPlaced, `{}`),
			delivered(t, "", orderPlaced, `{}`),
		} {
			if err := s.behindInbox(m); err != nil {
				t.Errorf("message %s came back: %v", m.UUID, err)
			}
		}
		wantRows(t, s.db, map[string]int64{"shipments": 0})
	})

	t.Run("wants_the_message_again_when_the_database_fails", func(t *testing.T) {
		t.Parallel()
		_, s := newConsumer(t)
		if err := s.db.Migrator().DropTable(&Shipment{}); err != nil {
			t.Fatal(err)
		}
		if err := s.behindInbox(delivered(t, uuid.NewString(), orderPlaced, `{}`)); err == nil {
			t.Error("the message is lost")
		}
	})
}

func TestUntilDone(t *testing.T) {
	t.Parallel()

	t.Run("tries_again_until_the_message_is_handled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			calls, begun := 0, time.Now()
			_, err := untilDone(func(*message.Message) ([]*message.Message, error) {
				if calls++; calls < 3 {
					return nil, errors.New("database is away")
				}
				return nil, nil
			})(delivered(t, uuid.NewString(), orderPlaced, `{}`))
			if got := time.Since(begun); err != nil || calls != 3 || got != 2*retryPause {
				t.Errorf("%d calls in %v, %v", calls, got, err)
			}
		})
	})

	t.Run("gives_the_message_back_when_the_consumer_stops", func(t *testing.T) {
		t.Parallel()
		away := errors.New("database is away")
		m := delivered(t, uuid.NewString(), orderPlaced, `{}`)
		ctx, cancel := context.WithCancel(t.Context())
		m.SetContext(ctx)
		_, err := untilDone(func(*message.Message) ([]*message.Message, error) {
			cancel()
			return nil, away
		})(m)
		if !errors.Is(err, away) {
			t.Errorf("error %v, want that of the handler", err)
		}
	})
}

func TestTextHeaders(t *testing.T) {
	t.Parallel()
	t.Run("reads_a_message_that_a_quorum_queue_delivers_again", func(t *testing.T) {
		t.Parallel()
		m, err := textHeaders{}.Unmarshal(amqp091.Delivery{Headers: amqp091.Table{
			"_watermill_message_uuid": "id", "type": orderPlaced, "x-delivery-count": int64(1),
		}})
		if err != nil || m.UUID != "id" || m.Metadata.Get("type") != orderPlaced {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}
