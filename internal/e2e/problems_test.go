package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// answersProblems checks what the shop says to clients that are wrong.
func answersProblems(t *testing.T, c combination) {
	d, b := c.database(t), c.broker(t)
	api := startAPI(t, c, with(servers(d, b, newTopic(t, b)), "ROLE", "api"))
	for name, request := range map[string]struct {
		method, path, body string
		status             int
	}{
		"invalid JSON":       {"POST", "/orders", `{"customer":`, http.StatusBadRequest},
		"unknown order":      {"GET", "/orders/" + uuid.NewString(), "", http.StatusNotFound},
		"unknown shipment":   {"GET", "/shipments/" + uuid.NewString(), "", http.StatusNotFound},
		"oversized request":  {"POST", "/orders", order(strings.Repeat("x", 80<<10), 1), http.StatusRequestEntityTooLarge},
		"order of no items":  {"POST", "/orders", `{"customer":"c-1","items":[]}`, http.StatusUnprocessableEntity},
		"no path of shop":    {"GET", "/nowhere", "", http.StatusNotFound},
		"no method of order": {"DELETE", "/orders", "", http.StatusMethodNotAllowed},
	} {
		checkProblem(t, name, api.do(t, request.method, request.path, request.body), request.status)
	}
	if n := d.count(t, "orders") + d.count(t, "outbox_messages"); n != 0 {
		t.Errorf("refused requests left %d rows", n)
	}
	if health := api.do(t, "GET", "/healthz", ""); health.status != http.StatusOK {
		t.Errorf("after that /healthz answers %d, want 200", health.status)
	}
}

// checkProblem requires a body as RFC 9457 defines it.
func checkProblem(t *testing.T, name string, a answer, status int) {
	t.Helper()
	if a.status != status || a.contentType != "application/problem+json" {
		t.Errorf("%s: answer %d %s: %s; want %d application/problem+json", name, a.status, a.contentType, a.body, status)
		return
	}
	type problem struct {
		Type, Title, Detail string
		Status              int
	}
	got := decode[problem](t, a, status)
	if got.Type == "" || got.Title == "" || got.Detail == "" || got.Status != status {
		t.Errorf("%s: problem %+v, want type, title, detail and status %d", name, got, status)
	}
}
