package kafka_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

func TestCheck(t *testing.T) {
	t.Parallel()

	t.Run("names_what_is_missing_and_warns_of_what_may_be_lost_or_refused", func(t *testing.T) {
		t.Parallel()
		brokers := testservices.Kafka(t)
		narrow := realTopic(t, 2, map[string]string{
			"max.message.bytes": "25000", "unclean.leader.election.enable": "true",
		})
		dead := realTopic(t, 1, map[string]string{"min.insync.replicas": "2"})
		missing := testservices.Name("missing")
		warnings, err := open(t, kafka.Config{Brokers: brokers}).Check(within(t, patience), narrow, dead, missing)
		if !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.Contains(err.Error(), missing) ||
			!strings.Contains(err.Error(), "topic "+dead+" can take nothing") {
			t.Errorf("error = %v, want it to name the missing topic and the one without enough replicas", err)
		}
		want := []string{
			"topic " + narrow + ": it has one replica: what is confirmed is lost with its broker",
			"topic " + narrow + ": unclean.leader.election.enable is true: a broker that lacks confirmed messages may lead",
			"topic " + narrow + ": max.message.bytes is 25000, MaxMessageBytes 1000012: the broker refuses what is in between",
		}
		if diff := cmp.Diff(want, warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	})

	t.Run("says_that_settings_may_not_be_read", func(t *testing.T) {
		t.Parallel()
		brokers, topic := testservices.Kafka(t), realTopic(t, 1, nil)
		versions := kversion.Stable()
		versions.SetMaxKeyVersion(int16(kmsg.DescribeConfigs), -1)
		p := open(t, kafka.Config{Brokers: brokers, ClientOptions: []kgo.Opt{kgo.MaxVersions(versions)}})
		warnings, err := p.Check(within(t, patience), topic)
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "DescribeConfigs") {
			t.Errorf("warnings %q, error %v; want one about the missing right", warnings, err)
		}
	})

	t.Run("creates_no_topic", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t)
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		for range 2 {
			if _, err := p.Check(within(t, patience), "nowhere"); !errors.Is(err, kerr.UnknownTopicOrPartition) {
				t.Errorf("error = %v, want that the topic is unknown", err)
			}
		}
	})

	t.Run("ends_in_time_without_a_broker_and_leaves_the_publisher_in_use", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, hasty(cluster.ListenAddrs()))
		thaw := freeze(cluster)
		started := time.Now()
		_, err := p.Check(within(t, patience), "a")
		if outbox.ClassOf(err) != outbox.ClassUnavailable {
			t.Errorf("error = %v, want that it is unavailable", err)
		}
		wantWithin(t, started, longest)
		thaw()
		eventuallyAccepted(t, p, "a")
	})

	t.Run("refuses_after_Close", func(t *testing.T) {
		t.Parallel()
		p := open(t, kafka.Config{Brokers: []string{"127.0.0.1:1"}})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Check(within(t, patience), "a"); outbox.ClassOf(err) != outbox.ClassUnavailable {
			t.Errorf("error = %v, want that it is unavailable", err)
		}
	})
}

// eventuallyAccepted publishes until a message gets through.
func eventuallyAccepted(t *testing.T, p *kafka.Publisher, topic string) {
	t.Helper()
	ctx := within(t, patience)
	for {
		r := p.Publish(ctx, []*outbox.Message{message(topic, "k", 0)})[0]
		if r.Accepted() {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("not accepted: %v", r.Err())
		}
	}
}
