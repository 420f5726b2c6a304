package health

import (
	"encoding/json"
	"net/http"
)

// Live answers 200 while the process is live and 503 when it is not, with a [Report] that is about the relays alone.
// It asks nobody.
func (c *Checks) Live() http.Handler {
	return probe(func(*http.Request) (Report, bool) {
		r := c.look()
		r.Ready = len(r.Problems) == 0
		return r, r.Live
	})
}

// Ready answers 200 while the outbox is ready and 503 while it is not, with a [Report] as JSON.
func (c *Checks) Ready() http.Handler {
	return probe(func(r *http.Request) (Report, bool) {
		report := c.Check(r.Context())
		return report, report.Ready
	})
}

func probe(check func(*http.Request) (Report, bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		report, well := check(r)
		body, err := json.Marshal(report)
		if err != nil {
			http.Error(w, "the report cannot be written", http.StatusInternalServerError)
			return
		}
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		if !well {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write(append(body, '\n'))
	})
}
