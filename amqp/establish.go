package amqp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// attempt is one way from nothing to a usable channel.
type attempt struct {
	dialer *dialer
	url    string
	window int
	link   *link
	stop   func() bool // ends the deadline's hold on the wire
}

// establish goes the whole way under one deadline: the wire is cut when that passes, whatever step hangs, and
// after any error, because the client library leaves the socket open after some.
func (d *dialer) establish(ctx context.Context, url string, window int) (*link, error) {
	uri, err := amqp091.ParseURI(url)
	if err != nil {
		return nil, errors.New("parse URL: not an AMQP URL") // Open has checked it; the cause would show the password
	}
	ctx, cancel := context.WithTimeout(ctx, d.config.DialTimeout)
	defer cancel()
	at := net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port))
	log := d.config.Logger.With(slog.String("broker", at))
	a := &attempt{dialer: d, url: url, window: window, link: &link{gate: d.gate, log: log, gone: make(chan struct{})}}
	if err := a.run(ctx); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", at, err)
	}
	return a.link, nil
}

func (a *attempt) run(ctx context.Context) error {
	err := a.open(ctx)
	if a.link.wire == nil {
		return err
	}
	if !a.stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		a.link.wire.kill()
	}
	return err
}

// open dials, logs in and opens the channel. Listeners are registered before anything is published.
func (a *attempt) open(ctx context.Context) error {
	conn, err := amqp091.DialConfig(a.url, a.clientConfig(ctx))
	if err != nil {
		return err
	}
	a.link.conn = conn
	closed := conn.NotifyClose(make(chan *amqp091.Error, 1))
	blocked := conn.NotifyBlocked(make(chan amqp091.Blocking, 1))
	a.dialer.add(a.link)
	go func() {
		defer a.dialer.remove(a.link)
		a.link.watch(blocked, closed)
	}()
	return a.link.openChannel(a.window)
}

// clientConfig is made anew for each connection, because the library writes into it. Its own recovery stays
// off: it would start delivery tags again and answer what is open with refusals.
func (a *attempt) clientConfig(ctx context.Context) amqp091.Config {
	config := a.dialer.config
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName("postroom")
	return amqp091.Config{
		Heartbeat:       config.Heartbeat,
		TLSClientConfig: config.TLS.Clone(),
		Properties:      properties,
		Locale:          "en_US",
		Dial: func(network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			a.link.wire = newWire(conn, config.WriteTimeout)
			a.stop = context.AfterFunc(ctx, a.link.wire.kill)
			return a.link.wire, nil
		},
	}
}
