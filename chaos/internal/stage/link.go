//go:build unix

package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxies are the proxies of a stage.
type proxies struct {
	server *toxiproxy.ApiServer // never listens
	links  []*Link
}

func newProxies() *proxies {
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics have a logger of their own
	return &proxies{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
}

// Link is a network between relays and one server.
type Link struct {
	Name  string
	proxy *toxiproxy.Proxy
}

// link takes a port below those that the system gives to clients, which could get it while the link is cut.
func (p *proxies) link(name, upstream string) (*Link, error) {
	for {
		listen := fmt.Sprintf("127.0.0.1:%d", 24_000+rand.IntN(1_000))
		l := &Link{name, toxiproxy.NewProxy(p.server, name, listen, upstream)}
		err := l.proxy.Start()
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("start the proxy before %s: %w", name, err)
		}
		p.links = append(p.links, l)
		return l, nil
	}
}

func (p *proxies) close() error {
	for _, l := range p.links {
		l.proxy.Stop()
	}
	return nil
}

// Address is where relays dial.
func (l *Link) Address() string { return l.proxy.Listen }

// Cut closes all connections and refuses new ones until Mend.
func (l *Link) Cut() { l.proxy.Stop() }

// Mend ends Cut.
func (l *Link) Mend() error {
	if err := l.proxy.Start(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
		return fmt.Errorf("start the proxy before %s: %w", l.Name, err)
	}
	return nil
}

// The directions of a toxic, as the relay sees them.
const (
	Out = "upstream"
	In  = "downstream"
)

// Poison adds a toxic (latency, timeout, reset_peer, slicer, bandwidth) to one direction until the returned function
// is called. Timeout 0 is a half-open connection: nothing arrives and nothing ends.
func (l *Link) Poison(kind, direction string, attributes map[string]int) (heal func() error, err error) {
	name := kind + "-" + direction
	spec, err := json.Marshal(map[string]any{
		"name": name, "type": kind, "stream": direction, "toxicity": 1, "attributes": attributes,
	})
	if err != nil {
		return nil, err
	}
	if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(string(spec))); err != nil {
		return nil, fmt.Errorf("add toxic %s before %s: %w", name, l.Name, err)
	}
	return func() error { return l.proxy.Toxics.RemoveToxic(context.Background(), name) }, nil
}
