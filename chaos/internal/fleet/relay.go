//go:build unix

package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/postroom/postroom/chaos/internal/wait"
)

// Relay is a place for a relay: whenever its process has ended, another one is started.
type Relay struct {
	Name string

	path  string
	args  []string
	env   []string
	log   string
	loose bool // how it ends is nobody's business

	mu       sync.Mutex
	current  *process
	asked    bool // to end
	starts   int
	deaths   []Death
	problems []string
	done     chan struct{}
}

// Death is the end of a process by SIGKILL.
type Death struct {
	At    time.Time
	Point string // where it died by itself, if it did
}

const (
	restartPause = 200 * time.Millisecond
	longestStop  = 40 * time.Second
)

// Start starts n relays of the program at path. They end with Stop.
func Start(path string, n int, folder string, args ...string) []*Relay {
	var relays []*Relay
	for i := range n {
		r := &Relay{
			Name: fmt.Sprintf("relay-%d", i), path: path, args: args, done: make(chan struct{}),
		}
		r.log = filepath.Join(folder, r.Name+".log")
		go r.keep()
		relays = append(relays, r)
	}
	return relays
}

// StartShop starts the example shop at path, which is no relay of ours: how its processes end does not matter.
func StartShop(path, folder string, env ...string) *Relay {
	r := &Relay{
		Name: "shop", path: path, env: env, log: filepath.Join(folder, "shop.log"), loose: true, done: make(chan struct{}),
	}
	go r.keep()
	return r
}

// keep starts one process after another until one was asked to be the last.
func (r *Relay) keep() {
	defer close(r.done)
	for {
		p, err := r.next()
		if err != nil {
			r.complain("%v", err)
			return
		}
		if p == nil {
			return
		}
		<-p.ended
		r.judge(p)
		time.Sleep(restartPause) //nolint:forbidigo // as a supervisor does
	}
}

// next starts a process unless the relay was stopped for good.
func (r *Relay) next() (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.path == "" {
		return nil, nil
	}
	r.starts++
	path, args := r.path, append([]string{"-name", fmt.Sprintf("%s.%d", r.Name, r.starts)}, r.args...)
	if r.loose {
		path, args = "sh", append(slices.Clone(watched), r.path)
	}
	p, err := start(path, args, r.env, r.log)
	r.current, r.asked = p, false
	return p, err
}

// judge keeps what is wrong with the way in which a process ended.
func (r *Relay) judge(p *process) {
	r.mu.Lock()
	asked := r.asked
	r.mu.Unlock()
	said, err := p.outcome()
	switch {
	case r.loose:
	case p.killed():
		r.mu.Lock()
		r.deaths = append(r.deaths, Death{time.Now(), said.Point})
		r.mu.Unlock()
	case !p.wasReady(): // there was no database to begin with, or it was asked to end before it listened to that
	case !asked:
		r.complain("ended by itself: %v (%s)", err, said.Error)
	case said.Event != "ended":
		r.complain("ended without a word: %v", err)
	case said.Goroutines != "":
		r.complain("left goroutines: %s", said.Goroutines)
	case len(said.Files) > 0:
		r.complain("left files or sockets: %v", said.Files)
	}
}

func (r *Relay) complain(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, r.Name+" "+fmt.Sprintf(format, args...))
}

// Problems are what was wrong with processes that were not killed.
func (r *Relay) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problems
}

// Deaths are those of all processes.
func (r *Relay) Deaths() []Death {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deaths
}

// Starts counts the processes so far.
func (r *Relay) Starts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.starts
}

func (r *Relay) running() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// Ready waits until a process is at work.
func (r *Relay) Ready(ctx context.Context) error {
	for {
		p := r.running()
		if p != nil {
			select {
			case <-p.ready:
				if !p.hasEnded() {
					return nil
				}
			case <-p.ended:
			case <-ctx.Done():
				return fmt.Errorf("wait for %s: %w", r.Name, ctx.Err())
			}
		}
		if !wait.For(ctx, restartPause/4) {
			return fmt.Errorf("wait for %s: %w", r.Name, ctx.Err())
		}
	}
}

// Kill ends the process as a crash does.
func (r *Relay) Kill() {
	if p := r.running(); p != nil {
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

// KillAt lets the process die at a point, delay after it was passed, and reports whether that happened within limit. A
// process that did not come by is left alone.
func (r *Relay) KillAt(ctx context.Context, point string, delay, limit time.Duration) bool {
	p := r.running()
	if p == nil {
		return false
	}
	if _, err := fmt.Fprintf(p.stdin, "kill %s %s\n", point, delay); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.ended:
		return true
	case <-ctx.Done():
		_, _ = fmt.Fprintf(p.stdin, "kill nowhere 0s\n")
		return false
	}
}

// Freeze stops the process where it is for d.
func (r *Relay) Freeze(ctx context.Context, d time.Duration) {
	if p := r.running(); p != nil {
		p.signal(syscall.SIGSTOP)
		wait.For(ctx, d)
		p.signal(syscall.SIGCONT)
	}
}

// Restart ends the process as a deployment does and waits until it has. Another one follows.
func (r *Relay) Restart() error {
	r.mu.Lock()
	p := r.current
	r.asked = true
	r.mu.Unlock()
	return end(p)
}

// Stop ends the process for good.
func (r *Relay) Stop() error {
	r.mu.Lock()
	r.path, r.asked = "", true
	p := r.current
	r.mu.Unlock()
	err := end(p)
	<-r.done
	return err
}

var errOverdue = errors.New("did not end in time after SIGTERM, and was killed")

// end asks a process to end; it returns why that was not in order.
func end(p *process) error {
	if p == nil {
		return nil
	}
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
	limit := time.NewTimer(longestStop)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
		p.signal(syscall.SIGQUIT) // its log shows where it was
		p.signal(syscall.SIGKILL)
		<-p.ended
		return errOverdue
	}
	_, err := p.outcome()
	if p.killed() {
		return nil // by another fault
	}
	return err
}

// Log returns what the relay's processes said last.
func (r *Relay) Log() string {
	const most = 4000
	text, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
