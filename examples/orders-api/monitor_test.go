package main

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestMonitor(t *testing.T) {
	t.Parallel()
	shop := openShop(t, environment{})
	order := place(t, shop)
	waitForShipment(t, shop, order.ID)

	tick := time.NewTicker(glance)
	defer tick.Stop()
	for end := time.Now().Add(deadline); ; <-tick.C {
		status, body, _ := send(t, http.MethodGet, shop+"/readyz", "")
		if status == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("GET /readyz: %d %s", status, body)
		}
	}
	status, body, _ := send(t, http.MethodGet, shop+"/livez", "")
	if !strings.Contains(string(body), `"relays":[{"state":"ready"`) || status != http.StatusOK {
		t.Errorf("GET /livez: %d %s", status, body)
	}
	_, body, _ = send(t, http.MethodGet, shop+"/metrics", "")
	for _, line := range []string{
		`outbox_name="orders",outbox_relay_state="ready"} 1`,
		`outbox_verdict="delivered"} 1`,
	} {
		if !strings.Contains(string(body), line) {
			t.Errorf("GET /metrics has no line with %s", line)
		}
	}
}
