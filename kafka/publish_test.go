package kafka_test

import (
	"testing"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
)

func TestPublish(t *testing.T) {
	t.Parallel()

	t.Run("accepts_messages_that_are_then_in_the_log", func(t *testing.T) {
		t.Parallel()
		topic := realTopic(t, 4, nil)
		p := open(t, kafka.Config{Brokers: testservices.Kafka(t)})
		messages := keyed(topic, 50, 1000)
		wantAllAccepted(t, p.Publish(within(t, patience), messages))
		if got := len(logs(t, testservices.Kafka(t), topic)); got != len(messages) {
			t.Errorf("the log holds %d records, want %d", got, len(messages))
		}
	})
}
