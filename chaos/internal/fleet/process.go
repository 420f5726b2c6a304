//go:build unix

// Package fleet runs programs of a trial as processes, and starts those again that have ended.
package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Ended is what a relay says when it has ended in order.
type Ended struct {
	Event      string   `json:"event"`
	Point      string   `json:"point"`
	Error      string   `json:"error"`
	Goroutines string   `json:"goroutines"` // that it left
	Files      []string `json:"files"`      // that it left, and sockets
}

// process is one run of a program.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser // its end ends the program
	ready chan struct{}
	ended chan struct{}

	mu   sync.Mutex
	last Ended
	err  error
}

// watched runs a program that does not look at its standard input, and kills its group when that ends, which it does
// when the runner is gone.
var watched = []string{
	"-c", `exec 3<&0; (read _ <&3; kill -KILL 0) >/dev/null 2>&1 & exec 3<&-; exec "$@" </dev/null`, "sh",
}

// start runs a program whose standard error goes to the file log.
func start(path string, args, env []string, log string) (*process, error) {
	file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the program has its own
	cmd := exec.CommandContext(context.Background(), path, args...)
	cmd.Stderr, cmd.Env = file, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the runner is not theirs
	p := &process{cmd: cmd, ready: make(chan struct{}), ended: make(chan struct{})}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	go p.follow(stdout)
	return p, nil
}

// follow reads what the program says until it has ended.
func (p *process) follow(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var e Ended
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // no event
		}
		if e.Event == "ready" {
			close(p.ready)
		}
		p.mu.Lock()
		p.last = e
		p.mu.Unlock()
	}
	err := p.cmd.Wait()
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	close(p.ended)
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // one that has ended needs none

// outcome is what the program said last and how it ended.
func (p *process) outcome() (Ended, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.err
}

// wasReady reports that the program had begun its work.
func (p *process) wasReady() bool { return isClosed(p.ready) }

// hasEnded reports that the program is gone, ready or not.
func (p *process) hasEnded() bool { return isClosed(p.ended) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// killed reports that the program was ended by SIGKILL.
func (p *process) killed() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
