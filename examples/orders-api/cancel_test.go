package main

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestCancelOrder(t *testing.T) {
	t.Parallel()

	t.Run("stores_the_event_after_that_of_the_order_under_the_same_key", func(t *testing.T) {
		t.Parallel()
		shop, db := newShop(t)
		order := place(t, shop)
		status, body, _ := send(t, http.MethodPost, shop+"/orders/"+order.ID.String()+"/cancel", "")
		if got := decode[Order](t, body); status != http.StatusOK || got.Status != cancelled || got.ID != order.ID {
			t.Errorf("answered %d %s", status, body)
		}
		var events []struct{ Topic, Key, Type, Payload string }
		if err := db.Table("outbox_messages").Order("seq").Find(&events).Error; err != nil {
			t.Fatal(err)
		}
		want := struct{ Topic, Key, Type, Payload string }{
			"orders", "c-1", "OrderCancelled", `{"order_id":"` + order.ID.String() + `","customer":"c-1"}`,
		}
		if len(events) != 2 || cmp.Diff(want, events[1]) != "" {
			t.Errorf("events %+v, want the second to be %+v", events, want)
		}
	})

	t.Run("answers_404_or_409_and_stores_nothing", func(t *testing.T) {
		t.Parallel()
		shop, db := newShop(t)
		order := place(t, shop)
		path := shop + "/orders/" + order.ID.String() + "/cancel"
		if status, body, _ := send(t, http.MethodPost, path, ""); status != http.StatusOK {
			t.Fatalf("answered %d %s", status, body)
		}
		status, body, header := send(t, http.MethodPost, path, "")
		wantProblem(t, http.StatusConflict, status, body, header)
		status, body, header = send(t, http.MethodPost, shop+"/orders/"+uuid.NewString()+"/cancel", "")
		wantProblem(t, http.StatusNotFound, status, body, header)
		wantRows(t, db, map[string]int64{"outbox_messages": 2})
	})
}
