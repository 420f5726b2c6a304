package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/testoutput"
)

// process is one run of the example shop.
type process struct {
	cmd    *exec.Cmd
	output *testoutput.Buffer
	ended  chan struct{} // closed once err is set
	err    error
}

// startShop runs the shop with nothing but settings of its own, and ends it with the test.
func startShop(t *testing.T, c combination, settings map[string]string) *process {
	t.Helper()
	file, err := c.shop()
	must(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), file) // cleanUp ends it
	p := &process{cmd: cmd, output: &testoutput.Buffer{}, ended: make(chan struct{})}
	p.cmd.Env = environmentWithout("GORACE", "ADDR", "DATABASE_URL", "BROKER_URL", "TOPIC", "ROLE", "OUTBOX_LEASE")
	p.cmd.Env = append(p.cmd.Env, "GORACE=exitcode=0") // cleanUp looks at the reports
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		p.cmd.Env = append(p.cmd.Env, name+"="+settings[name])
	}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	must(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { p.cleanUp(t) })
	return p
}

// await waits until the process has said something that matches, and returns the first group.
func (p *process) await(t *testing.T, pattern string) string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	var match []string
	eventually(t, func() string {
		if p.hasEnded() {
			t.Fatalf("the shop ended by itself: %v", p.err)
		}
		if match = expression.FindStringSubmatch(p.output.String()); match == nil {
			return fmt.Sprintf("the shop did not say %q", pattern)
		}
		return ""
	})
	return match[len(match)-1]
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("send %v to the shop: %v", s, err)
	}
}

// terminate asks the process, which may be stopped, to end, and requires that it does so without an error.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	p.signal(t, syscall.SIGCONT)
	p.awaitEnd(t)
	if p.err != nil {
		t.Errorf("the shop ended with %v after SIGTERM", p.err)
	}
}

// kill ends the process as a crash does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	p.awaitEnd(t)
}

func (p *process) awaitEnd(t *testing.T) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case <-p.ended:
	case <-deadline.C:
		t.Fatalf("the shop still runs after %v", patience)
	}
}

func (p *process) cleanUp(t *testing.T) {
	t.Helper()
	if !p.hasEnded() {
		err := errors.Join(p.cmd.Process.Signal(syscall.SIGCONT), p.cmd.Process.Signal(syscall.SIGTERM))
		drop(t, "the shop's process", err)
		p.killAfter(t, 20*time.Second)
	}
	text := p.output.String()
	for _, race := range ownRaces(text) {
		t.Errorf("the shop has a data race:\n%s", race)
	}
	if t.Failed() {
		const tail = 8000
		t.Logf("the shop (process %d) said:\n%s", p.cmd.Process.Pid, text[max(0, len(text)-tail):])
	}
}

func (p *process) killAfter(t *testing.T, d time.Duration) {
	t.Helper()
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	select {
	case <-p.ended:
	case <-deadline.C:
		t.Errorf("the shop still ran %v after SIGTERM", d)
		drop(t, "the shop's process", p.cmd.Process.Kill())
		<-p.ended
	}
}
