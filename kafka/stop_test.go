package kafka_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

func TestContext(t *testing.T) {
	t.Parallel()

	t.Run("that_has_ended_hands_over_nothing", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, r := range p.Publish(ctx, keyed("a", 10, 100)) {
			wantZero(t, r)
		}
		if got := len(logs(t, cluster.ListenAddrs(), "a")); got != 0 {
			t.Errorf("the log holds %d records", got)
		}
	})

	t.Run("that_ends_lets_open_sends_be_answered", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 10, 100)))
		ctx, cancel := context.WithCancel(context.Background())
		cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			cancel()
			cluster.SleepControl(func() { <-time.After(100 * time.Millisecond) })
			return nil, nil, false
		})
		wantAllAccepted(t, p.Publish(ctx, keyed("a", 10, 100)))
	})

	t.Run("that_ends_gives_up_on_a_frozen_broker_soon", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 10, 100)))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			cancel() // when something was sent
			return nil, nil, false
		})
		t.Cleanup(freeze(cluster))
		started := time.Now()
		results := p.Publish(ctx, keyed("a", 10, 100))
		wantWithin(t, started, longest)
		for _, r := range results {
			wantClass(t, r, outbox.ClassUnknown)
		}
	})

	t.Run("that_ends_before_anything_left_gives_the_zero_result", func(t *testing.T) {
		t.Parallel()
		p := open(t, kafka.Config{Brokers: []string{"127.0.0.1:1"}})
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		started := time.Now()
		results := p.Publish(ctx, keyed("a", 10, 100))
		wantWithin(t, started, longest)
		for _, r := range results {
			wantZero(t, r)
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()

	t.Run("may_be_repeated_and_refuses_later_calls", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 10, 100)))
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Errorf("Close: %v", err)
		}
		wantClass(t, p.Publish(within(t, patience), keyed("a", 1, 1))[0], outbox.ClassUnavailable)
	})

	t.Run("ends_open_calls_on_a_frozen_broker_in_time", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 10, 100)))
		asked := make(chan struct{}, 1)
		cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			asked <- struct{}{}
			return nil, nil, false
		})
		t.Cleanup(freeze(cluster))
		ended := make(chan []outbox.Result, 4)
		for range 4 {
			go func() { ended <- p.Publish(context.Background(), keyed("a", 10, 100)) }()
		}
		select {
		case <-asked:
		case <-time.After(patience):
			t.Fatal("nothing was sent")
		}
		started := time.Now()
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		wantWithin(t, started, 5*time.Second)
		for range 4 {
			if got := accepted(<-ended); got != 0 {
				t.Errorf("a frozen broker accepted %d", got)
			}
		}
	})

	t.Run("leaves_open_calls_the_answers_that_are_on_their_way", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		closed := make(chan error, 1)
		cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			go func() { closed <- p.Close() }()
			return nil, nil, false
		})
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 1, 10)))
		if err := <-closed; err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}
