//go:build unix

package testnodes

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaNode is one node of a cluster, broker and controller in one.
type KafkaNode struct {
	process
	ID         int32
	port       int
	controller int
	jars       string
}

// Kafka starts a cluster of n nodes, whose topics have n replicas unless told otherwise.
func Kafka(tb testing.TB, n int) []*KafkaNode {
	tb.Helper()
	jars := jars(tb)
	nodes := make([]*KafkaNode, n)
	for i := range nodes {
		id := int32(i + 1) //nolint:gosec // few
		nodes[i] = &KafkaNode{ID: id, port: freePort(tb), controller: freePort(tb), jars: jars}
	}
	cluster := clusterID()
	for _, node := range nodes {
		node.format(tb, cluster, nodes)
		node.start(tb)
	}
	for _, node := range nodes {
		node.awaitReady(tb, len(nodes))
	}
	return nodes
}

// jars returns where scripts/services keeps Kafka.
func jars(tb testing.TB) string {
	tb.Helper()
	home, err := os.UserHomeDir()
	must(tb, err)
	cache := filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "postroom")
	found, err := filepath.Glob(filepath.Join(cmp.Or(os.Getenv("POSTROOM_CACHE_DIR"), cache), "kafka-*"))
	must(tb, err)
	if len(found) == 0 {
		tb.Fatal("Kafka's jars are not here: scripts/services up kafka fetches them (without KAFKA_BROKERS)")
	}
	return filepath.Join(found[len(found)-1], "*")
}

// clusterID is 22 characters of URL-safe base64; the tool takes a leading "-" for a flag.
func clusterID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return "p" + base64.RawURLEncoding.EncodeToString(id)[:20] + "A"
}

func (n *KafkaNode) format(tb testing.TB, cluster string, nodes []*KafkaNode) {
	tb.Helper()
	home := folder(tb)
	settings := filepath.Join(home, "server.properties")
	must(tb, os.WriteFile(settings, []byte(n.settings(home, nodes)), 0o600))
	n.process = process{folder: home, command: "java", env: os.Environ(), args: []string{
		"-Xms128m", "-Xmx384m", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + home,
		"-cp", n.jars, "kafka.Kafka", settings,
	}}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("node %d said:\n%s", n.ID, n.tail())
		}
		n.end(tb, syscall.SIGKILL)
	})
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "java", "-Xmx256m", "-cp", n.jars,
		"kafka.tools.StorageTool", "format", "-t", cluster, "-c", settings).CombinedOutput()
	if err != nil {
		tb.Fatalf("format Kafka's folder: %v\n%s", err, out)
	}
}

func (n *KafkaNode) settings(home string, nodes []*KafkaNode) string {
	var voters []string
	for _, other := range nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", other.ID, address(other.controller)))
	}
	return fmt.Sprintf(`process.roles=broker,controller
node.id=%d
controller.quorum.voters=%s
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%s,CONTROLLER://%s
advertised.listeners=PLAINTEXT://%s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=%s
auto.create.topics.enable=false
default.replication.factor=%d
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
broker.session.timeout.ms=6000
replica.lag.time.max.ms=6000
`, n.ID, strings.Join(voters, ","), n.Address(), address(n.controller), n.Address(),
		filepath.Join(home, "data"), len(nodes))
}

// Address is where clients reach the node.
func (n *KafkaNode) Address() string { return address(n.port) }

// Start starts the node again and waits until it serves.
func (n *KafkaNode) Start(tb testing.TB) {
	tb.Helper()
	n.start(tb)
	n.awaitReady(tb, 1)
}

// awaitReady waits until the node knows at least some brokers, which it does once it is in service itself.
func (n *KafkaNode) awaitReady(tb testing.TB, brokers int) {
	tb.Helper()
	n.await(tb, func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(n.Address())) // one that lives longer answers from memory
		if err != nil {
			return err
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		found, err := kadm.NewClient(client).BrokerMetadata(ctx)
		if err == nil && len(found.Brokers) < brokers {
			err = fmt.Errorf("it knows %d brokers of %d", len(found.Brokers), brokers)
		}
		return err
	})
}
