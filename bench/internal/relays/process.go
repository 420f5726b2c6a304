package relays

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/postroom/postroom/bench/internal/subject"
)

// patience is how long a relay may take to be ready, or to end.
const patience = 30 * time.Second

// process is a relay that was started.
type process struct {
	command *exec.Cmd
	ready   chan struct{}
	ended   chan struct{} // closed when all that it said has been read and it is gone
	err     error         // of its end
}

// start starts a relay and waits until it is ready. settled is told of each claim that it settles.
func start(
	ctx context.Context, name string, site subject.Site, lease time.Duration, settled func(n int),
) (*process, error) {
	task, err := json.Marshal(assignment{name, site.Addresses, site.Database, site.Destination, lease})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this command: %w", err)
	}
	p := &process{command: exec.CommandContext(ctx, self), ready: make(chan struct{}), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), variable+"="+string(task))
	p.command.Stderr = os.Stderr
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start a relay: %w", err)
	}
	go p.listen(bufio.NewScanner(out), settled)
	select {
	case <-p.ready:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("start a relay: it ended: %w", p.err)
	case <-time.After(patience):
		return nil, errors.Join(errors.New("start a relay: it did not get ready"), p.kill())
	}
}

func (p *process) listen(out *bufio.Scanner, settled func(n int)) {
	defer close(p.ended)
	for out.Scan() {
		word, rest, _ := strings.Cut(out.Text(), " ")
		switch word {
		case readyWord:
			close(p.ready)
		case settledWord:
			if n, err := strconv.Atoi(rest); err == nil {
				settled(n)
			}
		}
	}
	p.err = errors.Join(out.Err(), p.command.Wait())
}

// stop asks it to end, as a deployment does, and waits for that.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop a relay: %w", err)
	}
	select {
	case <-p.ended:
		return p.err
	case <-time.After(patience):
		return errors.Join(errors.New("stop a relay: it did not end"), p.kill())
	}
}

// kill leaves it no time for anything.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill a relay: %w", err)
	}
	<-p.ended
	return nil
}

// gone reports whether it has ended.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// peak is the most memory that it has had so far, in bytes; 0 where the system does not tell.
func (p *process) peak() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nVmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 64)
	if err != nil {
		return 0
	}
	return kilobytes * 1024
}
