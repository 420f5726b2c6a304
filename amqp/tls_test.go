package amqp_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testservices"
)

// tlsBroker returns an amqps URL of the broker, and the roots that vouch for it.
func tlsBroker(t *testing.T) (string, *x509.CertPool) {
	t.Helper()
	target, err := url.Parse(testservices.AMQP(t))
	must(t, err)
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates})
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	host := target.Host
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", host)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	target.Scheme, target.Host = "amqps", listener.Addr().String()
	return target.String(), roots
}

func TestTLS(t *testing.T) {
	t.Parallel()

	t.Run("carries_messages_to_a_broker_that_is_vouched_for", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		address, roots := tlsBroker(t)
		p := open(t, amqp.Config{URLs: []string{address}, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}})
		wantTally(t, p.Publish(within(t, time.Minute), messages(600, exchange, "placed")), map[string]int{"accepted": 600})
		if got := len(b.take(queue)); got != 600 {
			t.Errorf("queue holds %d messages, want 600", got)
		}
	})

	t.Run("sends_nothing_to_one_that_is_not", func(t *testing.T) {
		t.Parallel()
		address, _ := tlsBroker(t)
		p := open(t, amqp.Config{URLs: []string{address}})
		results := p.Publish(within(t, time.Minute), messages(1, "some", "placed"))
		wantTally(t, results, map[string]int{"unavailable": 1})
		if text := results[0].Err().Error(); !strings.Contains(text, "certificate") {
			t.Errorf("error is %q, want one about the certificate", text)
		}
	})
}
