package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

const backoff = 100 * time.Millisecond // the first

var outboxDefaults = outbox.RelayConfig{}

// keepsUnroutable publishes to an exchange that no queue is bound to, and binds one later.
func keepsUnroutable(t *testing.T, c combination) {
	a := newApp(t, c, func(t *testing.T, b broker) string {
		topic := testservices.Name("e2e")
		b.(rabbitMQ).exchange(t, topic)
		return topic
	})
	first, second := a.message(t, "c-1", 1), a.message(t, "c-1", 2)
	a.commit(t, first, second)
	a.relay(t, outbox.RelayConfig{Policy: outbox.Policy{MinBackoff: backoff}})

	checkBackoff(t, a, first, 4)
	behind := a.database.messages(t)[1]
	if behind.ID != second.ID.String() || behind.Attempts != 0 {
		t.Errorf("behind it waits %v, want %s without an attempt", behind, second.ID)
	}

	consumer := a.broker.record(t, a.topic)
	a.broker.(rabbitMQ).bind(t, a.topic)
	arriveInOrder(t, a, consumer)
}

// checkBackoff waits for a number of failures, each visible as unroutable and each followed by twice the wait.
func checkBackoff(t *testing.T, a *app, m *outbox.Message, failures int) {
	t.Helper()
	var row stored
	due := map[int]float64{} // seconds, by the number of failures
	eventually(t, func() string {
		row = a.database.messages(t)[0]
		if row.Failures > 0 {
			due[row.Failures] = row.AvailableAt
		}
		if row.Failures < failures {
			return fmt.Sprintf("%v has not failed %d times", row, failures)
		}
		return ""
	})
	const retrying = 2
	if row.ID != m.ID.String() || row.LastClass != string(outbox.ClassUnroutable) || row.State != retrying {
		t.Errorf("stored %v, want %s, unroutable, in state %d", row, m.ID, retrying)
	}
	for n := 2; n <= failures; n++ {
		if due[n-1] == 0 || due[n] == 0 {
			continue // too short to be seen
		}
		wait := time.Duration((due[n] - due[n-1]) * float64(time.Second)).Round(time.Millisecond)
		if least := backoff << (n - 1); wait < least {
			t.Errorf("failure %d is followed by a wait of %v, want %v at least", n, wait, least)
		}
	}
}

// keepsTopicless publishes to a topic that does not exist, which Kafka says of the topic and not of the message.
func keepsTopicless(t *testing.T, c combination) {
	a := newApp(t, c, func(*testing.T, broker) string { return testservices.Name("e2e") })
	first, second := a.message(t, "c-1", 1), a.message(t, "c-1", 2)
	a.commit(t, first, second)
	a.relay(t, outboxDefaults)

	eventually(t, func() string {
		if row := a.database.messages(t)[0]; row.Attempts < 2 {
			return fmt.Sprintf("%v has not been tried twice", row)
		}
		return ""
	})
	row := a.database.messages(t)[0]
	if row.ID != first.ID.String() || row.LastClass != string(outbox.ClassRetryAfter) || row.Failures != 0 {
		t.Errorf("stored %v, want %s, to be retried, without a failure", row, first.ID)
	}
	a.broker.declare(t, a.topic)
	arriveInOrder(t, a, a.broker.record(t, a.topic))
}

// arriveInOrder waits for the two messages of key c-1.
func arriveInOrder(t *testing.T, a *app, consumer *recorder) {
	t.Helper()
	consumer.awaitIDs(t, 2)
	a.database.awaitEmpty(t)
	sequenceOf(map[string]int{"c-1": 2}, consumer.finish(t)).checkOnce(t)
}
