package amqp

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	managementTimeout = 30 * time.Second // for all questions of a Check
	managementAnswer  = 16 << 20         // bytes of an answer that are read at most
)

// management asks RabbitMQ's management API what AMQP does not show. Fields are those of the API.
type management struct {
	url, vhost string
	client     *http.Client
}

// newManagement asks at url; tls, which may be nil, is used where that is https. Close its idle connections.
func newManagement(url, vhost string, tls *tls.Config) management {
	return management{url, vhost, &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: tls.Clone(), ForceAttemptHTTP2: true,
	}}}
}

type settings map[string]any

// UnmarshalJSON also takes the empty list, which the API writes for no settings at all.
func (s *settings) UnmarshalJSON(text []byte) error {
	if string(text) == "[]" {
		return nil
	}
	return json.Unmarshal(text, (*map[string]any)(s))
}

func (s settings) text(name string) string { text, _ := s[name].(string); return text }

type exchangeInfo struct {
	Durable   bool
	Policy    string
	Arguments settings

	alternate string
}

type queueInfo struct {
	Name      string
	Durable   bool
	Arguments settings
	Policy    settings `json:"effective_policy_definition"`
}

// overflow returns what the queue does when it is full; an argument wins over a policy.
func (q queueInfo) overflow() string {
	return cmp.Or(q.Arguments.text("x-overflow"), q.Policy.text("overflow"), "drop-head")
}

func (q queueInfo) bounded() bool {
	for _, name := range []string{"max-length", "max-length-bytes"} {
		if q.Arguments["x-"+name] != nil || q.Policy[name] != nil {
			return true
		}
	}
	return false
}

func (q queueInfo) dropsHead() bool { return q.bounded() && q.overflow() == "drop-head" }

func (q queueInfo) rejects() bool {
	return q.bounded() && strings.HasPrefix(q.overflow(), "reject-publish")
}

func (m management) exchange(ctx context.Context, name string) (exchangeInfo, error) {
	var e exchangeInfo
	if err := m.get(ctx, &e, "exchanges", m.vhost, name); err != nil {
		return e, err
	}
	e.alternate = e.Arguments.text("alternate-exchange")
	if e.alternate != "" || e.Policy == "" {
		return e, nil
	}
	var policy struct{ Definition settings }
	err := m.get(ctx, &policy, "policies", m.vhost, e.Policy)
	e.alternate = policy.Definition.text("alternate-exchange")
	return e, err
}

// queuesBehind returns the queues that are bound to an exchange, also by way of others.
func (m management) queuesBehind(ctx context.Context, exchange string) ([]queueInfo, error) {
	var queues []queueInfo
	seen := map[binding]bool{{exchange, "exchange"}: true}
	for ahead := []string{exchange}; len(ahead) > 0; ahead = ahead[1:] {
		var bindings []binding
		if err := m.get(ctx, &bindings, "exchanges", m.vhost, ahead[0], "bindings", "source"); err != nil {
			return nil, err
		}
		for _, b := range bindings {
			if seen[b] {
				continue
			}
			seen[b] = true
			if b.Kind == "exchange" {
				ahead = append(ahead, b.Destination)
				continue
			}
			var q queueInfo
			if err := m.get(ctx, &q, "queues", m.vhost, b.Destination); err != nil {
				return nil, err
			}
			queues = append(queues, q)
		}
	}
	return queues, nil
}

type binding struct {
	Destination string
	Kind        string `json:"destination_type"`
}

// get decodes the answer to a question. Its errors do not show the URL, which may carry a password.
func (m management) get(ctx context.Context, into any, path ...string) error {
	for i, part := range path {
		path[i] = url.PathEscape(part)
	}
	at := "/api/" + strings.Join(path, "/")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(m.url, "/")+at, nil)
	if err != nil {
		return errors.New("ask the management API: want Config.Management of the form http://user:password@host:15672")
	}
	response, err := m.client.Do(request)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		return fmt.Errorf("ask the management API: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the management API for %s: %s: the user needs the tag monitoring", at, response.Status)
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, response.Body, managementAnswer)).Decode(into); err != nil {
		return fmt.Errorf("read the answer of the management API to %s: %w", at, err)
	}
	return nil
}
