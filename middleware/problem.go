package middleware

import (
	"encoding/json"
	"net/http"
)

// problem is an error body as RFC 9457 defines it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// writeProblem says nothing of err, which speaks of the inside.
func writeProblem(w http.ResponseWriter, _ *http.Request, status int, _ error) {
	body, err := json.Marshal(problem{
		Type:   "about:blank",
		Title:  http.StatusText(status),
		Status: status,
		Detail: "The request was not completed. Nothing of it may be relied on; try again.",
	})
	if err != nil {
		http.Error(w, http.StatusText(status), status)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
