//go:build soak

package kafka_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testload"
	"github.com/postroom/postroom/internal/testnodes"
	"github.com/postroom/postroom/internal/testtopic"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

const orders = "orders"

func addresses(nodes []*testnodes.KafkaNode) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Address())
	}
	return all
}

// topicOf creates the topic of a load with as many replicas as there are nodes.
func topicOf(t *testing.T, nodes []*testnodes.KafkaNode, minInSync string) {
	t.Helper()
	admin := kadm.NewClient(dial(t, addresses(nodes)))
	config := map[string]*string{"min.insync.replicas": &minInSync}
	_, err := admin.CreateTopic(within(t, patience), 4, int16(len(nodes)), config, orders) //nolint:gosec // few
	if err != nil {
		t.Fatalf("create topic: %v", err)
	}
	testtopic.Await(t, admin, orders)
}

func payloads(t *testing.T, nodes []*testnodes.KafkaNode) (all []string) {
	t.Helper()
	for _, r := range logs(t, addresses(nodes), orders) {
		if strings.HasPrefix(string(r.Value), "key-") {
			all = append(all, string(r.Value))
		}
	}
	return all
}

func TestSoakRestart(t *testing.T) {
	t.Parallel()
	nodes := testnodes.Kafka(t, 1)
	topicOf(t, nodes, "1")
	load := testload.Start(t, open(t, kafka.Config{Brokers: addresses(nodes)}), orders)
	load.Delivers(t, 500)
	for i := range 20 {
		// A single broker flushes at leisure, so what it confirmed a moment before a kill may be gone with the process's
		// machine, but not with the process: the system has the bytes.
		if i%2 == 0 {
			nodes[0].Kill(t)
		} else {
			nodes[0].Stop(t)
		}
		nodes[0].Start(t)
		load.Delivers(t, 500)
	}
	testload.Check(t, load.Finish(t), payloads(t, nodes))
}

func TestSoakFrozen(t *testing.T) {
	t.Parallel()
	nodes := testnodes.Kafka(t, 1)
	topicOf(t, nodes, "1")
	p := open(t, kafka.Config{Brokers: addresses(nodes), DeliveryTimeout: 3 * time.Second})
	load := testload.Start(t, p, orders)
	load.Delivers(t, 500)
	nodes[0].Freeze(t)
	load.Meets(t, 10)
	started := time.Now()
	for _, r := range p.Publish(within(t, patience), []*outbox.Message{message(orders, "other", 1)}) {
		if class := outbox.ClassOf(r.Err()); class != outbox.ClassUnknown && class != outbox.ClassUnavailable {
			t.Errorf("result = %v, want that nobody answered", r.Err())
		}
	}
	wantWithin(t, started, 3*time.Second+longest)
	nodes[0].Thaw(t)
	load.Delivers(t, 500)
	testload.Check(t, load.Finish(t), withoutOthers(payloads(t, nodes)))
}

// withoutOthers leaves out what did not come from the load.
func withoutOthers(all []string) (load []string) {
	for _, p := range all {
		if len(strings.Fields(p)) == 2 {
			load = append(load, p)
		}
	}
	return load
}

func TestSoakCluster(t *testing.T) {
	t.Parallel()
	nodes := testnodes.Kafka(t, 3)
	topicOf(t, nodes, "2")
	load := testload.Start(t, open(t, kafka.Config{Brokers: addresses(nodes)}), orders)
	load.Delivers(t, 500)

	t.Run("outlives_the_leader_of_a_partition", func(t *testing.T) {
		for range 3 {
			leader := nodes[leaderOf(t, nodes)-1]
			leader.Kill(t)
			load.Delivers(t, 1000)
			leader.Start(t)
			awaitInSync(t, nodes, 3)
			load.Delivers(t, 500)
		}
	})

	t.Run("waits_while_too_few_replicas_are_in_sync", func(t *testing.T) {
		setMinInSync(t, nodes, "3")
		away := nodes[leaderOf(t, nodes)%3] // not the leader of partition 0
		away.Stop(t)
		awaitInSync(t, nodes, 2)
		load.Meets(t, 10)
		away.Start(t)
		load.Delivers(t, 500)
	})
	awaitInSync(t, nodes, 3)
	testload.Check(t, load.Finish(t), payloads(t, nodes))
}

// partitions returns those of the topic as the brokers see them now; a client that lives longer answers from memory.
func partitions(t *testing.T, nodes []*testnodes.KafkaNode) kadm.PartitionDetails {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addresses(nodes)...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(within(t, patience), orders)
	if err != nil {
		t.Fatalf("look at the topic: %v", err)
	}
	return topics[orders].Partitions
}

// leaderOf returns the id of the leader of partition 0.
func leaderOf(t *testing.T, nodes []*testnodes.KafkaNode) int32 {
	t.Helper()
	leader := partitions(t, nodes)[0].Leader
	if leader < 1 {
		t.Fatal("partition 0 has no leader")
	}
	return leader
}

func setMinInSync(t *testing.T, nodes []*testnodes.KafkaNode, value string) {
	t.Helper()
	change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "min.insync.replicas", Value: &value}}
	answers, err := kadm.NewClient(dial(t, addresses(nodes))).AlterTopicConfigs(within(t, patience), change, orders)
	if err != nil || answers[0].Err != nil {
		t.Fatalf("alter topic: %v, %v", answers, err)
	}
}

// awaitInSync waits until the partition with the fewest replicas in sync has n.
func awaitInSync(t *testing.T, nodes []*testnodes.KafkaNode, n int) {
	t.Helper()
	ctx := within(t, 2*time.Minute)
	for {
		least := 0
		for _, p := range partitions(t, nodes) {
			if least == 0 || len(p.ISR) < least {
				least = len(p.ISR)
			}
		}
		if least == n {
			return
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d replicas are in sync, want %d", least, n)
		}
	}
}
