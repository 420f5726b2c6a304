package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	t.Parallel()

	t.Run("needs_nothing", func(t *testing.T) {
		t.Parallel()
		got, err := readConfig(environment{}.get)
		want := config{addr: "127.0.0.1:8080", topic: "orders", api: true, relay: true}
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})

	t.Run("reads_every_variable", func(t *testing.T) {
		t.Parallel()
		got, err := readConfig(environment{
			"ADDR": ":1", "DATABASE_URL": "postgres://h/d", "BROKER_URL": "kafka://h:1", "TOPIC": "t", "ROLE": "relay",
			"OUTBOX_LEASE": "2s",
		}.get)
		want := config{
			addr: ":1", databaseURL: "postgres://h/d", brokerURL: "kafka://h:1", topic: "t",
			lease: 2 * time.Second, relay: true,
		}
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})

	t.Run("says_which_variable_is_wrong_and_repeats_no_password", func(t *testing.T) {
		t.Parallel()
		for name, env := range map[string]environment{
			"ROLE":         {"ROLE": "boss"},
			"BROKER_URL":   {"ROLE": "relay", "DATABASE_URL": "postgres://h/d"},
			"OUTBOX_LEASE": {"OUTBOX_LEASE": "15"},
			"DATABASE_URL": {"DATABASE_URL": "mysql://user:secret@h"},
		} {
			err := run(t.Context(), env.get, nil)
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v: error %v", env, err)
			}
		}
		for _, url := range []string{"http://user:secret@h", "amqp://user:secret@h:port"} {
			_, err := openBroker(t.Context(), config{brokerURL: url})
			if err == nil || !strings.Contains(err.Error(), "BROKER_URL") || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v", err)
			}
		}
	})
}

func TestRunParts(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")

	t.Run("stops_the_last_first_and_waits_for_each", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		var order []string // each waits for the one before, so nothing runs side by side
		waits := func(name string) part {
			return part{name, func(ctx context.Context) error {
				<-ctx.Done()
				order = append(order, name)
				return nil
			}}
		}
		cancel()
		if err := runParts(ctx, waits("relay"), waits("shipping"), waits("http")); err != nil {
			t.Fatal(err)
		}
		if want := []string{"http", "shipping", "relay"}; !slices.Equal(order, want) {
			t.Errorf("stopped in order %v, want %v", order, want)
		}
	})

	t.Run("stops_all_when_one_ends_and_says_which", func(t *testing.T) {
		t.Parallel()
		stopped := false
		err := runParts(t.Context(),
			part{"relay", func(ctx context.Context) error {
				<-ctx.Done()
				stopped = true
				return nil
			}},
			part{"http", func(context.Context) error { return broken }})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "http") || !stopped {
			t.Errorf("error %v, the other stopped: %v", err, stopped)
		}
	})
}
