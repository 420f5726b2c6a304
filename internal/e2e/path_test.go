package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type placed struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Total    int    `json:"total_cents"`
	Status   string `json:"status"`
}

type shipment struct {
	OrderID string `json:"order_id"`
	EventID string `json:"event_id"`
}

// deliversUnderOneID runs API and relay as two processes, so that the row is seen before the relay takes it.
func deliversUnderOneID(t *testing.T, c combination) {
	d, b := c.database(t), c.broker(t)
	topic := newTopic(t, b)
	consumer := b.record(t, topic)
	settings := servers(d, b, topic)
	api := startAPI(t, c, with(settings, "ROLE", "api"))

	got := decode[placed](t, api.do(t, "POST", "/orders", order("c-1", 3998)), http.StatusCreated)
	want := placed{ID: got.ID, Customer: "c-1", Total: 3998, Status: "placed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	read := decode[placed](t, api.do(t, "GET", "/orders/"+got.ID, ""), http.StatusOK)
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	row := onlyRow(t, d)
	if row.Topic != topic || row.Key != "c-1" || row.Type != "OrderPlaced" {
		t.Errorf("stored %+v, want an OrderPlaced of topic %s and key c-1", row, topic)
	}
	if before := api.do(t, "GET", "/shipments/"+got.ID, ""); before.status != http.StatusNotFound {
		t.Errorf("before the event came its shipment answers %d, want 404", before.status)
	}

	startRelay(t, c, settings)
	checkDelivery(t, b, consumer.awaitIDs(t, 1), row.ID)
	shipped := awaitShipment(t, api, got.ID)
	if diff := cmp.Diff(shipment{OrderID: got.ID, EventID: row.ID}, shipped); diff != "" {
		t.Errorf("the shipment (-want +got):\n%s", diff)
	}
	d.awaitEmpty(t)
}

func onlyRow(t *testing.T, d *database) stored {
	t.Helper()
	rows := d.messages(t)
	if len(rows) != 1 {
		t.Fatalf("stored %v, want one message", rows)
	}
	return rows[0]
}

// checkDelivery requires one delivery whose every id is that of the row.
func checkDelivery(t *testing.T, b broker, got []delivery, id string) {
	t.Helper()
	want := delivery{id: id, kind: "OrderPlaced", body: body{"c-1", 3998}}
	if b.namesMessages() {
		want.messageID = id
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("delivered %v, want %v alone", got, want)
	}
}

func awaitShipment(t *testing.T, api *shop, orderID string) shipment {
	t.Helper()
	var a answer
	eventually(t, func() string {
		if a = api.do(t, "GET", "/shipments/"+orderID, ""); a.status == http.StatusNotFound {
			return fmt.Sprintf("order %s has no shipment", orderID)
		}
		return ""
	})
	return decode[shipment](t, a, http.StatusOK)
}

// shipsOnDefaults is what make run does: a database and a broker inside the process.
func shipsOnDefaults(t *testing.T, c combination) {
	api := startAPI(t, c, nil)
	begin := time.Now()
	got := decode[placed](t, api.do(t, "POST", "/orders", order("c-1", 3998)), http.StatusCreated)
	shipped := awaitShipment(t, api, got.ID)
	t.Logf("shipped after %v", time.Since(begin).Round(time.Millisecond))
	if shipped.OrderID != got.ID || shipped.EventID == "" {
		t.Errorf("shipped %+v, want order %s and the id of its event", shipped, got.ID)
	}
	api.terminate(t)
}
