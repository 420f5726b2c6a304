// Package testtopic makes topics of Kafka for tests.
package testtopic

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

const patience = time.Minute

// Create makes a topic, and removes it after the test. It returns once the topic can be used, see [Await].
func Create(tb testing.TB, admin *kadm.Client, topic string, partitions int32, configs map[string]*string) {
	tb.Helper()
	if _, err := admin.CreateTopic(within(tb), partitions, 1, configs, topic); err != nil {
		tb.Fatalf("create topic %s: %v", topic, err)
	}
	tb.Cleanup(func() {
		if _, err := admin.DeleteTopic(within(tb), topic); err != nil {
			tb.Errorf("delete topic %s: %v", topic, err)
		}
	})
	Await(tb, admin, topic)
}

// Await waits until brokers answer for a topic that was created: at first only the controller knows of it, and the
// leaders of its partitions tell clients that there is none.
func Await(tb testing.TB, admin *kadm.Client, topic string) {
	tb.Helper()
	ctx := within(tb)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := known(ctx, admin, topic)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("topic %s cannot be used after %v: %v", topic, patience, err)
		}
	}
}

func known(ctx context.Context, admin *kadm.Client, topic string) error {
	offsets, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	configs, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return err
	}
	config, err := configs.On(topic, nil)
	return errors.Join(offsets.Error(), err, config.Err)
}

// within goes on after the test, for what cleans up.
func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}
