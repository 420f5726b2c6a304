//go:build unix

package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/chaos/internal/stage"
	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
)

func kafkaFaults(s *Scene) []Fault {
	faults := []Fault{
		{"kill a broker", 3, killNode},
		{"freeze a broker", 2, freezeNode},
		{"lower the topic's limit", 2, lowerLimit},
	}
	if s.Nodes() > 1 {
		faults = append(faults, Fault{"kill a partition's leader", 3, killKafkaLeader})
	}
	return faults
}

// killNode kills a node of the broker, and starts it again after a time.
func killNode(ctx context.Context, s *Scene, r *rand.Rand) error {
	return killNumber(ctx, s, r, r.IntN(s.Nodes()))
}

func killNumber(ctx context.Context, s *Scene, r *rand.Rand, node int) error {
	if err := s.KillNode(node); err != nil {
		return brokenScene{err}
	}
	wait.For(ctx, between(r, 0, 4*time.Second))
	if err := s.StartNode(node); err != nil {
		return brokenScene{err}
	}
	return nil
}

// freezeNode stops the processes of a node: its connections stay open and nothing answers.
func freezeNode(ctx context.Context, s *Scene, r *rand.Rand) error {
	node, d := r.IntN(s.Nodes()), between(r, time.Second, 7*time.Second)
	err := s.Try(func(tb testing.TB) {
		if s.Broker == stage.Kafka {
			s.Kafka[node].Freeze(tb)
			wait.For(ctx, d)
			s.Kafka[node].Thaw(tb)
		} else {
			s.RabbitMQ[node].Freeze(tb)
			wait.For(ctx, d)
			s.RabbitMQ[node].Thaw(tb)
		}
	})
	if err != nil {
		return brokenScene{err}
	}
	return nil
}

// asAdmin runs do as Kafka's administrator.
func asAdmin(s *Scene, do func(ctx context.Context, admin *kadm.Client) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers()...))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return do(ctx, kadm.NewClient(client))
}

// killKafkaLeader kills the leader of a partition.
func killKafkaLeader(ctx context.Context, s *Scene, r *rand.Rand) error {
	leader := int32(-1)
	err := asAdmin(s, func(ctx context.Context, admin *kadm.Client) error {
		topics, err := admin.ListTopics(ctx, wire.Main)
		if err != nil {
			return err
		}
		partitions := topics[wire.Main].Partitions.Sorted()
		if len(partitions) > 0 {
			leader = partitions[r.IntN(len(partitions))].Leader
		}
		return nil
	})
	for i, n := range s.Kafka {
		if err == nil && n.ID == leader {
			return killNumber(ctx, s, r, i)
		}
	}
	return errMissed
}

// lowerLimit makes the fragile topic refuse its larger messages, and then takes up what was parked for it.
func lowerLimit(ctx context.Context, s *Scene, r *rand.Rand) error {
	if err := setLimit(s, wire.Limit); err != nil {
		return errMissed
	}
	wait.For(ctx, between(r, time.Second, 5*time.Second))
	heal := wait.Until(context.WithoutCancel(ctx), time.Minute, "the limit is back", func(context.Context) (bool, error) {
		err := setLimit(s, 1<<20)
		return err == nil, err
	})
	if heal != nil {
		return brokenScene{heal}
	}
	return requeue(ctx, s, wire.Fragile, "the topic's limit is back")
}

func setLimit(s *Scene, bytes int) error {
	return asAdmin(s, func(ctx context.Context, admin *kadm.Client) error {
		value := strconv.Itoa(bytes)
		changes := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &value}}
		answers, err := admin.AlterTopicConfigs(ctx, changes, wire.Fragile)
		if err != nil {
			return err
		}
		for _, a := range answers {
			if a.Err != nil {
				return fmt.Errorf("set the limit of %s: %w", a.Name, a.Err)
			}
		}
		return nil
	})
}
