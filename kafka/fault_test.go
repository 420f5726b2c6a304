package kafka_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// hasty gives up early, so that tests of time-outs are short.
func hasty(brokers []string) kafka.Config {
	return kafka.Config{
		Brokers: brokers, DeliveryTimeout: time.Second,
		RequestTimeout: 500 * time.Millisecond, NetworkTimeout: 200 * time.Millisecond,
	}
}

// longest is what Publish and Close may take beyond the end of their time.
const longest = 4 * time.Second

func wantWithin(t *testing.T, started time.Time, d time.Duration) {
	t.Helper()
	if took := time.Since(started); took > d {
		t.Errorf("took %v, want at most %v", took, d)
	}
}

// freeze has the cluster read requests and answer none until the returned function is called.
func freeze(cluster *kfake.Cluster) (thaw func()) {
	frozen := make(chan struct{})
	cluster.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		cluster.SleepControl(func() { <-frozen })
		return nil, nil, false
	})
	return sync.OnceFunc(func() { close(frozen) })
}

func TestTopic(t *testing.T) {
	t.Parallel()

	t.Run("that_is_missing_fails_alone_and_delays_others_little", func(t *testing.T) {
		t.Parallel()
		brokers, topic := testservices.Kafka(t), realTopic(t, 4, nil)
		missing := testservices.Name("missing")
		p := open(t, kafka.Config{Brokers: brokers})
		messages := keyed(topic, 50, 200)
		messages = slices.Insert(messages, 100, message(missing, "k", 1), message(missing, "k", 2), message(missing, "", 3))
		for range 3 { // on a new client, and on one that has met the topic
			started := time.Now()
			results := p.Publish(within(t, patience), messages)
			wantWithin(t, started, 2*time.Second)
			if got := accepted(results); got != 200 {
				t.Errorf("%d accepted, want the 200 of the topic that exists", got)
			}
			for _, r := range results[100:103] {
				wantClass(t, r, outbox.ClassRetryAfter)
				if !errors.Is(r.Err(), kerr.UnknownTopicOrPartition) || !strings.Contains(r.Err().Error(), missing) {
					t.Errorf("error = %v, want that topic %s is unknown", r.Err(), missing)
				}
			}
		}
	})

	t.Run("that_is_created_later_takes_messages_then", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t)
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		wantClass(t, p.Publish(within(t, patience), keyed("late", 1, 1))[0], outbox.ClassRetryAfter)
		if err := cluster.CreateTopic("late", 3, nil); err != nil {
			t.Fatal(err)
		}
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("late", 10, 100)))
	})

	t.Run("that_was_deleted_and_created_again_takes_messages_again", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 10, 100)))
		if err := errors.Join(cluster.DeleteTopic("a"), cluster.CreateTopic("a", 4, nil)); err != nil {
			t.Fatal(err)
		}
		messages := keyed("a", 10, 100)
		deadline := time.Now().Add(patience)
		for {
			results := p.Publish(within(t, patience), messages)
			if accepted(results) == len(messages) {
				break
			}
			for _, r := range results {
				if r.Err() != nil {
					wantClass(t, r, outbox.ClassRetryAfter)
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("still refused: %v", results[0].Err())
			}
		}
		if got := len(logs(t, cluster.ListenAddrs(), "a")); got != 100 {
			t.Errorf("the log holds %d records, want 100", got)
		}
	})

	t.Run("that_is_forbidden_fails_alone", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a", "b")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "a", Err: kerr.TopicAuthorizationFailed, Count: -1})
		results := p.Publish(within(t, patience), []*outbox.Message{
			message("a", "k", 1), message("b", "l", 2), message("a", "m", 3),
		})
		wantClass(t, results[0], outbox.ClassRetryAfter)
		wantAllAccepted(t, results[1:2])
		wantClass(t, results[2], outbox.ClassRetryAfter)
	})

	t.Run("that_was_forbidden_takes_messages_as_soon_as_it_is_allowed", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 10, 100)))
		cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition}) // makes the client look
		forbidden := cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Metadata}, Topic: "a", Err: kerr.TopicAuthorizationFailed, Count: -1,
		})
		wantClass(t, p.Publish(within(t, patience), keyed("a", 1, 1))[0], outbox.ClassRetryAfter)
		forbidden.Remove()
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 10, 100)))
	})

	t.Run("that_no_broker_can_have_is_permanent", func(t *testing.T) {
		t.Parallel()
		p := open(t, kafka.Config{Brokers: testservices.Kafka(t)})
		results := p.Publish(within(t, patience), []*outbox.Message{message("not a topic", "k", 1), message("", "l", 2)})
		wantClass(t, results[0], outbox.ClassPermanent)
		wantClass(t, results[1], outbox.ClassPermanent)
	})
}

// eventuallyAllAccepted publishes n messages until all of them get through: who is hasty may give up on a broker of a
// busy machine, too.
func eventuallyAllAccepted(t *testing.T, p *kafka.Publisher, n int) {
	t.Helper()
	ctx := within(t, patience)
	for {
		results := p.Publish(ctx, keyed("a", 10, n))
		if accepted(results) == n {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%d of %d messages were accepted", accepted(results), n)
		}
	}
}

// dialUnless refuses connections while the brokers are away.
func dialUnless(away *atomic.Bool) kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, network, at string) (net.Conn, error) {
		if away.Load() {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, at)
	})
}

func TestBroker(t *testing.T) {
	t.Parallel()

	t.Run("that_is_away_is_unavailable_and_then_back", func(t *testing.T) {
		t.Parallel()
		var away atomic.Bool
		away.Store(true)
		config := hasty(fake(t, "a").ListenAddrs())
		config.ClientOptions = []kgo.Opt{dialUnless(&away)}
		p := open(t, config)
		started := time.Now()
		results := p.Publish(within(t, patience), keyed("a", 10, 100))
		wantWithin(t, started, time.Second+longest)
		for _, r := range results {
			wantClass(t, r, outbox.ClassUnavailable)
		}
		away.Store(false)
		eventuallyAllAccepted(t, p, 100)
	})

	t.Run("that_goes_away_between_calls_is_unknown_then_unavailable", func(t *testing.T) {
		t.Parallel()
		var away atomic.Bool
		cluster := fake(t, "a")
		config := hasty(cluster.ListenAddrs())
		config.ClientOptions = []kgo.Opt{dialUnless(&away)}
		p := open(t, config)
		eventuallyAllAccepted(t, p, 100)
		away.Store(true) // also when others listen at its ports by then
		cluster.Close()
		for _, r := range p.Publish(within(t, patience), keyed("a", 10, 100)) {
			if class := outbox.ClassOf(r.Err()); class != outbox.ClassUnknown && class != outbox.ClassUnavailable {
				t.Fatalf("class = %s (%v)", class, r.Err())
			}
		}
		for _, r := range p.Publish(within(t, patience), keyed("a", 10, 100)) {
			wantClass(t, r, outbox.ClassUnavailable)
		}
	})

	t.Run("that_is_frozen_ends_the_call_in_time_as_unknown", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, hasty(cluster.ListenAddrs()))
		eventuallyAllAccepted(t, p, 100)
		thaw := freeze(cluster)
		t.Cleanup(thaw)
		started := time.Now()
		results := p.Publish(within(t, patience), keyed("a", 10, 100))
		wantWithin(t, started, time.Second+longest)
		for _, r := range results {
			wantClass(t, r, outbox.ClassUnknown)
		}
		// A new client has nothing in flight: it does not even learn where the topic is.
		for _, r := range p.Publish(within(t, patience), keyed("a", 10, 100)) {
			wantClass(t, r, outbox.ClassUnavailable)
		}
		thaw()
		eventuallyAllAccepted(t, p, 100)
	})

	t.Run("that_does_not_answer_ends_a_long_call_at_its_first_flush", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		config := hasty(cluster.ListenAddrs())
		config.MaxMessageBytes = 10_000
		p := open(t, config)
		eventuallyAllAccepted(t, p, 300)
		t.Cleanup(freeze(cluster))
		started := time.Now()
		results := p.Publish(within(t, patience), keyed("a", 10, 300))
		wantWithin(t, started, time.Second+longest)
		wantClass(t, results[0], outbox.ClassUnknown)
		wantZero(t, results[299])
	})
}

func TestCluster(t *testing.T) {
	t.Parallel()

	t.Run("that_lets_us_publish_nothing_ends_the_call_until_it_does", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs(), MaxMessageBytes: 10_000}) // several flushes
		forbidden := cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.ClusterAuthorizationFailed, Count: -1,
		})
		results := p.Publish(within(t, patience), keyed("a", 300, 300))
		wantClass(t, results[0], outbox.ClassUnavailable)
		wantZero(t, results[299])
		forbidden.Remove()
		wantAllAccepted(t, p.Publish(within(t, patience), keyed("a", 300, 300)))
	})
}
