package kafka_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

func TestTooLarge(t *testing.T) {
	t.Parallel()

	t.Run("fails_alone_and_nothing_of_its_key_passes", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs(), MaxMessageBytes: 2000})
		messages := []*outbox.Message{
			message("a", "k", 1), large("a", "k", 3000), message("a", "k", 3),
			message("a", "l", 4), large("a", "", 3000), message("a", "", 6),
		}
		results := p.Publish(within(t, patience), messages)
		wantClass(t, results[1], outbox.ClassPermanent)
		wantZero(t, results[2])
		wantClass(t, results[4], outbox.ClassPermanent)
		wantAllAccepted(t, []outbox.Result{results[0], results[3], results[5]})
		if text := results[1].Err().Error(); !strings.Contains(text, "3183 bytes") || !strings.Contains(text, "2000") {
			t.Errorf("error = %q, want it to name the size and the limit", text)
		}
		if got := len(logs(t, cluster.ListenAddrs(), "a")); got != 3 {
			t.Errorf("the log holds %d records, want 3", got)
		}
	})

	t.Run("for_the_topic_alone_is_found_among_the_innocent", func(t *testing.T) {
		t.Parallel()
		brokers, topic := testservices.Kafka(t), realTopic(t, 4, map[string]string{"max.message.bytes": "25000"})
		p := open(t, kafka.Config{Brokers: brokers, Compression: []kgo.CompressionCodec{kgo.NoCompression()}})
		messages := keyed(topic, 500, 500)
		messages[250] = large(topic, messages[250].Key, 27_000)
		results := p.Publish(within(t, patience), messages)
		wantClass(t, results[250], outbox.ClassPermanent)
		if text := results[250].Err().Error(); !strings.Contains(text, "max.message.bytes is 25000") {
			t.Errorf("error = %q, want it to name the topic's limit", text)
		}
		if got := accepted(results); got != 499 {
			t.Errorf("%d accepted, want all 499 others", got)
		}
	})

	t.Run("is_not_a_message_that_fits_when_compressed", func(t *testing.T) {
		t.Parallel()
		brokers, topic := testservices.Kafka(t), realTopic(t, 4, map[string]string{"max.message.bytes": "25000"})
		p := open(t, kafka.Config{Brokers: brokers})
		wantAllAccepted(t, p.Publish(within(t, patience), []*outbox.Message{
			message(topic, "k", 1), large(topic, "k", 100_000), message(topic, "k", 3),
		}))
	})

	t.Run("costs_no_innocent_message_when_the_limit_may_not_be_asked_for", func(t *testing.T) {
		t.Parallel()
		brokers, topic := testservices.Kafka(t), realTopic(t, 4, map[string]string{"max.message.bytes": "25000"})
		versions := kversion.Stable()
		versions.SetMaxKeyVersion(int16(kmsg.DescribeConfigs), -1)
		p := open(t, kafka.Config{
			Brokers: brokers, Compression: []kgo.CompressionCodec{kgo.NoCompression()},
			ClientOptions: []kgo.Opt{kgo.MaxVersions(versions)},
		})
		messages := keyed(topic, 100, 450)
		for range 50 {
			messages = append(messages, message(topic, "", 0))
		}
		wantAllAccepted(t, p.Publish(within(t, patience), messages))
	})
}
