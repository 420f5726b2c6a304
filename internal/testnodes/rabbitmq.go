//go:build unix

package testnodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// RabbitMQNode is one node of a cluster.
type RabbitMQNode struct {
	process
	name string // in Erlang's terms
	port int
	home string
	epmd int
	bin  string
}

// RabbitMQ starts a cluster of n nodes.
func RabbitMQ(tb testing.TB, n int) []*RabbitMQNode {
	tb.Helper()
	epmd := startEpmd(tb)
	nodes := make([]*RabbitMQNode, n)
	for i := range nodes {
		nodes[i] = newRabbitMQNode(tb, epmd)
	}
	for _, node := range nodes {
		node.configure(tb, nodes)
		node.Start(tb) // the later ones join the first
	}
	return nodes
}

func newRabbitMQNode(tb testing.TB, epmd int) *RabbitMQNode {
	tb.Helper()
	n := &RabbitMQNode{home: folder(tb), port: freePort(tb), epmd: epmd}
	n.name = fmt.Sprintf("postroom-%d@localhost", n.port)
	n.bin = "/usr/lib/rabbitmq/bin" // the scripts in /usr/sbin change the user
	if _, err := os.Stat(filepath.Join(n.bin, "rabbitmq-server")); err != nil {
		path, err := exec.LookPath("rabbitmq-server")
		must(tb, err)
		n.bin = filepath.Dir(path)
	}
	n.process = process{folder: n.home, command: filepath.Join(n.bin, "rabbitmq-server"), env: n.environment(freePort(tb))}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("%s said:\n%s", n.name, n.tail())
		}
		n.end(tb, syscall.SIGKILL)
	})
	return n
}

func (n *RabbitMQNode) environment(distribution int) []string {
	in := func(name string) string { return filepath.Join(n.home, name) }
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + n.home,
		"RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_NODENAME=" + n.name,
		fmt.Sprintf("RABBITMQ_DIST_PORT=%d", distribution),
		"RABBITMQ_CONFIG_FILE=" + in("rabbitmq.conf"), "RABBITMQ_ADVANCED_CONFIG_FILE=" + in("advanced.config"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + in("enabled_plugins"),
		"RABBITMQ_MNESIA_BASE=" + in("mnesia"), "RABBITMQ_LOG_BASE=" + in("logs"), "RABBITMQ_PID_FILE=" + in("pid"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		fmt.Sprintf("ERL_EPMD_PORT=%d", n.epmd), "ERL_EPMD_ADDRESS=127.0.0.1",
		"ERL_CRASH_DUMP=/dev/null",
	}
}

// configure writes the node's settings; all nodes know each other and share a secret.
func (n *RabbitMQNode) configure(tb testing.TB, nodes []*RabbitMQNode) {
	tb.Helper()
	var conf strings.Builder
	fmt.Fprintf(&conf, "listeners.tcp.1 = %s\n", address(n.port))
	fmt.Fprintln(&conf, "disk_free_limit.absolute = 50MB\nlog.file.level = warning")
	fmt.Fprintln(&conf, "cluster_partition_handling = pause_minority\nnet_ticktime = 5")
	fmt.Fprintln(&conf, "cluster_formation.peer_discovery_backend = classic_config")
	for i, other := range nodes {
		fmt.Fprintf(&conf, "cluster_formation.classic_config.nodes.%d = %s\n", i+1, other.name)
	}
	const secret = "postroom"
	for name, text := range map[string]string{
		"rabbitmq.conf": conf.String(), "enabled_plugins": "[].\n", ".erlang.cookie": secret,
	} {
		must(tb, os.WriteFile(filepath.Join(n.home, name), []byte(text), 0o400))
	}
}

// URL is where the node listens.
func (n *RabbitMQNode) URL() string { return fmt.Sprintf("amqp://guest:guest@%s/", n.Address()) }

// Name is the node's name among the others.
func (n *RabbitMQNode) Name() string { return n.name }

// Address is where the node listens.
func (n *RabbitMQNode) Address() string { return address(n.port) }

// Start starts the node and waits until it answers.
func (n *RabbitMQNode) Start(tb testing.TB) {
	tb.Helper()
	n.start(tb)
	n.await(tb, func(context.Context) error {
		connection, err := amqp091.Dial(n.URL())
		if err != nil {
			return err
		}
		channel, err := connection.Channel()
		if err == nil {
			_, err = channel.QueueDeclare("", false, true, true, false, nil)
		}
		return errors.Join(err, connection.Close())
	})
}

// Ctl runs rabbitmqctl on the node and returns what it prints.
func (n *RabbitMQNode) Ctl(tb testing.TB, args ...string) string {
	tb.Helper()
	return n.tool(tb, "rabbitmqctl", args...)
}

// EnableManagement switches the management API on and returns its address.
func (n *RabbitMQNode) EnableManagement(tb testing.TB) string {
	tb.Helper()
	port := freePort(tb)
	n.Ctl(tb, "eval", fmt.Sprintf(
		`application:set_env(rabbitmq_management, listener, [{port, %d}, {ip, "127.0.0.1"}]).`, port))
	must(tb, os.Chmod(filepath.Join(n.home, "enabled_plugins"), 0o600))
	n.tool(tb, "rabbitmq-plugins", "enable", "rabbitmq_management")
	return "http://guest:guest@" + address(port)
}

func (n *RabbitMQNode) tool(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	args = append([]string{"--quiet", "--node", n.name}, args...)
	command := exec.CommandContext(ctx, filepath.Join(n.bin, name), args...)
	command.Env = n.env
	out, err := command.CombinedOutput()
	if err != nil {
		tb.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// startEpmd starts the name service of a cluster, which ends with the test.
func startEpmd(tb testing.TB) (port int) {
	tb.Helper()
	port = freePort(tb)
	p := &process{
		folder: folder(tb), command: "epmd", env: os.Environ(),
		args: []string{"-port", fmt.Sprint(port), "-address", "127.0.0.1"},
	}
	p.start(tb)
	tb.Cleanup(func() { p.end(tb, syscall.SIGKILL) })
	return port
}
