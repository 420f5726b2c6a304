// Package custompublisher is a publisher to a broker of one's own: one that takes each message as a POST to
// <base>/<topic>. It shows where each answer belongs, and passes the conformance kit.
package custompublisher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Webhook publishes by HTTP. It is an [outbox.Publisher].
type Webhook struct {
	Base   string
	Client *http.Client
	// Timeout bounds one request. Defaults to 10 s.
	Timeout time.Duration
}

// Envelope is the body of a request.
type Envelope struct {
	Headers []outbox.Header
	Payload []byte
}

// KeyOrdered is true: Publish stops a key at its first failure.
func (*Webhook) KeyOrdered() bool { return true }

// Publish sends up to 16 keys side by side, and each key in order.
func (w *Webhook) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	return outbox.PublishOneByOne(ctx, messages, 16, w.send)
}

// send posts one message. A request that is given up, because its time or ctx is over, may have been taken.
func (w *Webhook) send(ctx context.Context, m *outbox.Message) error {
	body, err := json.Marshal(Envelope{Headers: outbox.WireHeaders(m), Payload: m.Payload})
	if err != nil {
		return outbox.Permanent(fmt.Errorf("encode message: %w", err))
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout())
	defer cancel()
	request, err := http.NewRequestWithContext(
		ctx, http.MethodPost, w.Base+"/"+url.PathEscape(m.Topic), bytes.NewReader(body))
	if err != nil {
		return outbox.Permanent(fmt.Errorf("address message: %w", err))
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := w.client().Do(request)
	if err != nil {
		return classifyError(err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	return classifyStatus(answer)
}

// client follows no redirect: most turn a POST into a GET, whose good answer says nothing of the message.
func (w *Webhook) client() *http.Client {
	client := *w.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

func (w *Webhook) timeout() time.Duration {
	if w.Timeout == 0 {
		return 10 * time.Second
	}
	return w.Timeout
}

// classifyError says what is known of a request without an answer: nothing was handed over only if there was never a
// connection.
func classifyError(err error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return outbox.Unavailable(err)
	}
	return outbox.Unknown(err)
}

// classifyStatus says what an answer means for the message.
func classifyStatus(answer *http.Response) error {
	err := fmt.Errorf("answered %s", answer.Status)
	switch answer.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return nil
	case http.StatusNotFound, http.StatusGone: // the topic is missing, and may be made
		return outbox.Unroutable(err)
	case http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity: // no retry changes that
		return outbox.Permanent(err)
	case http.StatusTooManyRequests:
		return outbox.RetryAfter(retryAfter(answer), err)
	case http.StatusServiceUnavailable: // nothing was taken, whatever the message
		return outbox.Unavailable(err)
	case http.StatusBadGateway, http.StatusGatewayTimeout: // somebody behind it may have taken the message
		return outbox.Unknown(err)
	default: // a refusal that may pass
		return err
	}
}

func retryAfter(answer *http.Response) time.Duration {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil {
		return time.Second
	}
	return time.Duration(seconds) * time.Second
}
