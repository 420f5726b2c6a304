package middleware

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/postroom/postroom/middleware/idempotency"
)

// problem is an error body as RFC 9457 defines it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// writeProblem says nothing of err, which speaks of the inside.
func writeProblem(w http.ResponseWriter, _ *http.Request, status int, err error) {
	detail := "The request was not completed. Nothing of it may be relied on; try again."
	if errors.Is(err, idempotency.ErrLost) {
		detail = "Another request with this Idempotency-Key has taken over. Nothing of this one was kept; try again."
	}
	sendProblem(w, problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail})
}

func sendProblem(w http.ResponseWriter, p problem) {
	body, err := json.Marshal(p)
	if err != nil {
		http.Error(w, p.Title, p.Status)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}
