package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/postroom/postroom/telemetry/health"
)

// serveHTTP serves probes and metrics from before the relay starts until end is called, if the configuration says
// where.
func (p *relayProcess) serveHTTP(ctx context.Context) (end func(), err error) {
	if p.config.HTTP.Address == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.config.HTTP.Address)
	if err != nil {
		return nil, fmt.Errorf("serve health and metrics at http.address: %w", err)
	}
	unwatch := p.monitor.Watch(p.store, p.relay)
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("outbox: health and metrics are served no more", "error", err)
		}
	}()
	p.log.Info("outbox: health and metrics are served", "address", listener.Addr().String())
	return func() {
		_ = server.Close() // answers are short, and the process ends
		<-ended
		unwatch()
	}, nil
}

func (p *relayProcess) handler() http.Handler {
	checks := health.New(p.config.HealthConfig(p.store, p.log), p.relay)
	mux := http.NewServeMux()
	mux.Handle("GET /livez", checks.Live())
	mux.Handle("GET /readyz", checks.Ready())
	mux.Handle("GET /metrics", p.monitor.Handler())
	return mux
}
