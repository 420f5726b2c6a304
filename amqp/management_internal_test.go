package amqp

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestManagement_TLS: an authority that only Config.TLS knows vouches for the management API, too.
func TestManagement_TLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"durable":true,"arguments":{}}`))
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for name, c := range map[string]struct {
		config *tls.Config
		trusts bool
	}{
		"trusted": {&tls.Config{RootCAs: roots}, true},
		"unknown": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newManagement(server.URL, "/", c.config)
			defer m.client.CloseIdleConnections()
			e, err := m.exchange(t.Context(), "orders")
			if trusts := err == nil && e.Durable; trusts != c.trusts {
				t.Errorf("got %+v, %v; want trust %v", e, err, c.trusts)
			}
		})
	}
}
