package middleware

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"net/http"
)

var (
	errHijack = fmt.Errorf(
		"middleware: a connection cannot be taken over inside a transaction: skip the route: %w", http.ErrNotSupported)
	errFlush = fmt.Errorf("middleware: the answer is held until the commit: %w", http.ErrNotSupported)
)

// answer is what a heldWriter holds when it asks whether it may send it.
type answer struct {
	status int
	header http.Header
	body   []byte
	whole  bool // the handler has returned, so that nothing is to follow
}

// heldWriter keeps an answer until its transaction has ended. The client's writer is untouched until then.
type heldWriter struct {
	client http.ResponseWriter
	limit  int
	decide func(answer) error // ends the transaction; an error means that the answer must not be sent

	live    http.Header // what the handler sees
	header  http.Header // live at the time of WriteHeader, which is what counts
	status  int         // 0 until WriteHeader
	body    []byte
	decided bool
	err     error // of decide, for every later write
}

func newHeldWriter(client http.ResponseWriter, limit int, decide func(answer) error) *heldWriter {
	return &heldWriter{client: client, limit: limit, decide: decide, live: client.Header().Clone()}
}

// Header returns the headers of the held answer, which start with what outer middleware has set.
func (w *heldWriter) Header() http.Header {
	if w.live == nil {
		w.live = make(http.Header)
	}
	return w.live
}

// WriteHeader keeps the status and the headers as they are now. As with net/http only the first final status counts,
// and an impossible one panics. Informational ones (1xx) are dropped, because they would go out before the commit.
func (w *heldWriter) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %v", status))
	}
	informational := status < 200 && status != http.StatusSwitchingProtocols
	if informational || w.status != 0 {
		return
	}
	w.status = status
	w.header = w.Header().Clone()
}

func (w *heldWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !bodyAllowed(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if !w.decided && len(w.body)+len(p) <= w.limit {
		w.body = append(w.body, p...)
		return len(p), nil
	}
	if err := w.release(false); err != nil {
		return 0, err
	}
	return w.client.Write(p)
}

// bodyAllowed is RFC 9110's rule: no content in answers of 1xx, 204 and 304.
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// finish sends what the handler has left, trailers included.
func (w *heldWriter) finish() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if err := w.release(true); err != nil {
		return err
	}
	maps.Copy(w.client.Header(), w.Header()) // what is no trailer comes too late to count
	return nil
}

// release ends the transaction and, if the answer may go out, sends what is held.
func (w *heldWriter) release(whole bool) error {
	if w.decided {
		return w.err
	}
	w.decided = true
	if w.err = w.decide(answer{w.status, w.header, w.body, whole}); w.err != nil {
		w.body = nil
		return w.err
	}
	out := w.client.Header()
	clear(out)
	maps.Copy(out, w.header)
	w.client.WriteHeader(w.status)
	if len(w.body) > 0 {
		_, _ = w.client.Write(w.body) // it fails when the client has gone, and then nobody is left to be told
	}
	w.body = nil
	return nil
}

// Flush does nothing while the answer is held.
func (w *heldWriter) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController calls. It says so when the answer is held.
func (w *heldWriter) FlushError() error {
	switch {
	case !w.decided:
		return errFlush
	case w.err != nil:
		return w.err
	}
	return http.NewResponseController(w.client).Flush()
}

// Hijack refuses: what is said over a raw connection cannot wait for a commit.
func (w *heldWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errHijack }

// Unwrap lets http.ResponseController set deadlines.
func (w *heldWriter) Unwrap() http.ResponseWriter { return w.client }
