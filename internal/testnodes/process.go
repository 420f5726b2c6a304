//go:build unix

package testnodes

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a server may take to start or to end, on a machine that has much else to do.
const Patience = 5 * time.Minute

// process is a program with its children, in a process group of their own.
type process struct {
	folder  string // of its log, too
	command string
	args    []string
	env     []string
	owner   *syscall.Credential // nil is the user of the tests

	running *exec.Cmd
	ended   chan struct{}
}

// watched runs a program, and kills its group when the other end of the pipe on descriptor 3 is closed: that happens
// when the tests end, in whatever way.
const watched = `(read _ <&3; kill -KILL 0) & exec 3<&-; exec "$@"`

func (p *process) start(tb testing.TB) {
	tb.Helper()
	log, err := os.OpenFile(p.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(tb, err)
	lifeline, held, err := os.Pipe()
	must(tb, err)
	args := append([]string{"-c", watched, "sh", p.command}, p.args...)
	p.running = exec.CommandContext(context.Background(), "sh", args...)
	p.running.ExtraFiles = []*os.File{lifeline}
	p.running.Env, p.running.Dir = p.env, p.folder
	p.running.Stdout, p.running.Stderr = log, log
	p.running.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.owner}
	must(tb, p.running.Start())
	must(tb, lifeline.Close())
	p.ended = make(chan struct{})
	go func(running *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		_ = running.Wait()
		_ = log.Close()
		_ = held.Close()
	}(p.running, p.ended)
}

func (p *process) log() string { return filepath.Join(p.folder, "log") }

// signal sends s to the program and its children.
func (p *process) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := syscall.Kill(-p.running.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		tb.Errorf("send %v to %s: %v", s, p.command, err)
	}
}

// end sends s and waits until nothing is left of the program; one that takes too long is killed.
func (p *process) end(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if p.running == nil {
		return
	}
	p.signal(tb, s)
	p.signal(tb, syscall.SIGCONT)
	for limit := time.After(Patience / 2); ; {
		select {
		case <-p.ended:
			p.signal(tb, syscall.SIGKILL) // children that outlive it
			p.running = nil
			return
		case <-limit:
			tb.Errorf("%s did not end within %v", p.command, Patience/2)
			p.signal(tb, syscall.SIGKILL)
			limit = nil
		}
	}
}

// Stop ends the node in order.
func (p *process) Stop(tb testing.TB) { tb.Helper(); p.end(tb, syscall.SIGTERM) }

// Kill ends the node at once.
func (p *process) Kill(tb testing.TB) { tb.Helper(); p.end(tb, syscall.SIGKILL) }

// Freeze stops the node's processes where they are: its sockets stay open and nothing answers.
func (p *process) Freeze(tb testing.TB) { tb.Helper(); p.signal(tb, syscall.SIGSTOP) }

// Thaw lets a frozen node go on.
func (p *process) Thaw(tb testing.TB) { tb.Helper(); p.signal(tb, syscall.SIGCONT) }

// await waits until ready returns nil.
func (p *process) await(tb testing.TB, ready func(ctx context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-p.ended:
			tb.Fatalf("%s ended while it started (%v):\n%s", p.command, err, p.tail())
		case <-ctx.Done():
			tb.Fatalf("%s does not answer (%v):\n%s", p.command, err, p.tail())
		}
	}
}

// tail returns what the program said last.
func (p *process) tail() string {
	const most = 4000
	text, _ := os.ReadFile(p.log())
	return string(text[max(0, len(text)-most):])
}

// folder makes a folder that ends with the test. Its name is short: a socket's path may have 108 bytes.
func folder(tb testing.TB) string {
	tb.Helper()
	path, err := os.MkdirTemp("", "postroom-node-")
	must(tb, err)
	tb.Cleanup(func() {
		if err := os.RemoveAll(path); err != nil {
			tb.Error(err)
		}
	})
	return path
}

// freePort returns one below those that the system gives to clients: a client that dials a stopped server again and
// again could get its port.
func freePort(tb testing.TB) int {
	tb.Helper()
	for {
		port := 20_000 + rand.IntN(4_000)
		listener, err := net.Listen("tcp", address(port)) //nolint:noctx // on loopback
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		must(tb, err)
		must(tb, listener.Close())
		return port
	}
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
