package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// shop is a running example shop that takes orders.
type shop struct {
	*process
	url    string
	client *http.Client
}

// servers are the settings of a shop on a database and a broker.
func servers(d *database, b broker, topic string) map[string]string {
	return map[string]string{"DATABASE_URL": d.url, "BROKER_URL": b.url(), "TOPIC": topic}
}

func with(settings map[string]string, name, value string) map[string]string {
	more := map[string]string{name: value}
	maps.Copy(more, settings)
	return more
}

// startAPI starts a shop in a role that takes orders.
func startAPI(t *testing.T, c combination, settings map[string]string) *shop {
	t.Helper()
	p := startShop(t, c, with(settings, "ADDR", "127.0.0.1:0"))
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &shop{
		process: p,
		url:     p.await(t, `listens on (http://[0-9.]+:[0-9]+)`),
		client:  &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}
}

// startRelay starts a relay in a process of its own.
func startRelay(t *testing.T, c combination, settings map[string]string) *process {
	t.Helper()
	p := startShop(t, c, with(settings, "ROLE", "relay"))
	p.await(t, `relays from`)
	return p
}

// answer is what the shop said.
type answer struct {
	status      int
	contentType string
	body        []byte
}

func (s *shop) do(t *testing.T, method, path, body string) answer {
	t.Helper()
	a, err := s.try(t, method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// try is do for other goroutines than the test's own.
func (s *shop) try(t *testing.T, method, path, body string) (answer, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(response.Body)
	a := answer{response.StatusCode, response.Header.Get("Content-Type"), bytes.TrimSpace(text)}
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	return a, err
}

// decode reads a JSON answer of a status.
func decode[T any](t *testing.T, a answer, status int) T {
	t.Helper()
	var value T
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if err := json.Unmarshal(a.body, &value); err != nil {
		t.Fatalf("decode %s: %v", a.body, err)
	}
	return value
}

// order is one whose total is n cents, so that its event carries the number.
func order(customer string, n int) string {
	return fmt.Sprintf(`{"customer":%q,"items":[{"sku":"book","quantity":%d,"unit_price_cents":1}]}`, customer, n)
}
