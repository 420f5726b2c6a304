package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/postroom/postroom/internal/testservices"
)

// node is a broker of the test's own, started by the script that starts the shared ones.
type node struct {
	broker
	server string // its name in scripts/services
	folder string // its data
	port   string
}

func newRabbitMQNode(t *testing.T) *node {
	t.Helper()
	n := newNode(t, "rabbitmq")
	n.broker = rabbitMQ{n.address(t, testservices.AMQPEnv)}
	return n
}

func newKafkaNode(t *testing.T) *node {
	t.Helper()
	n := newNode(t, "kafka")
	n.broker = kafkaCluster{strings.Split(n.address(t, testservices.KafkaEnv), ",")}
	return n
}

func newNode(t *testing.T, server string) *node {
	t.Helper()
	folder, err := os.MkdirTemp("", "postroom-e2e-")
	must(t, err)
	n := &node{server: server, folder: folder, port: freePort(t)}
	t.Cleanup(func() {
		n.showLog(t)
		n.services(t, "down")
		drop(t, folder, os.RemoveAll(folder))
	})
	n.services(t, "up")
	return n
}

// showLog shows what the server of a failed test said last.
func (n *node) showLog(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	text, err := os.ReadFile(filepath.Join(n.folder, n.server, "log"))
	const tail = 4000
	t.Logf("%s said (%v):\n%s", n.server, err, text[max(0, len(text)-tail):])
}

// stop ends the server and keeps its data.
func (n *node) stop(t *testing.T) {
	t.Helper()
	n.services(t, "stop")
}

// start starts a stopped server where it was.
func (n *node) start(t *testing.T) {
	t.Helper()
	n.services(t, "start")
}

// freePort returns one below those that the system gives to clients: a client that dials the stopped server again and
// again could get its port.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		port := strconv.Itoa(20_000 + rand.IntN(4_000))
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		must(t, err)
		must(t, listener.Close())
		return port
	}
}

// services runs scripts/services for this server, whatever the environment says of shared ones.
func (n *node) services(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "../../scripts/services", command, n.server)
	cmd.Env = append(environmentWithout(
		testservices.PostgresEnv, testservices.AMQPEnv, testservices.KafkaEnv,
	), "POSTROOM_SERVICES_DIR="+n.folder, "POSTROOM_AMQP_PORT="+n.port, "POSTROOM_KAFKA_PORT="+n.port)
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/services %s %s: %v\n%s", command, n.server, err, told.String())
	}
	return string(out)
}

func (n *node) address(t *testing.T, variable string) string {
	t.Helper()
	line := regexp.MustCompile(variable + `=(\S+)`).FindStringSubmatch(n.services(t, "env"))
	if line == nil {
		t.Fatalf("scripts/services env %s names no %s", n.server, variable)
	}
	return line[1]
}

// environmentWithout is this process's environment but for the named variables.
func environmentWithout(names ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}
