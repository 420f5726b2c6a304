package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/testoutput"
)

// asProgram makes the test's binary the program, so that tests can run it as a process.
const asProgram = "POSTROOM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what must happen. It decides nothing: two busy cores are slow at times.
const patience = 2 * time.Minute

// process is one run of the program.
type process struct {
	testing.TB
	cmd       *exec.Cmd
	out, errs testoutput.Buffer
	ended     chan struct{}
}

// start runs the program with variables added to its environment, and ends it with the test.
func start(tb testing.TB, variables []string, args ...string) *process {
	tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), os.Args[0], args...) // the cleanup ends it
	p := &process{TB: tb, cmd: cmd, ended: make(chan struct{})}
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), variables...)
	cmd.Stdout, cmd.Stderr = &p.out, &p.errs
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // its state says more
		close(p.ended)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // if it still runs
		<-p.ended
		if tb.Failed() {
			tb.Logf("%v printed:\n%s%s", args, p.out.String(), p.errs.String())
		}
	})
	return p
}

// signal sends s.
func (p *process) signal(s syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.Fatal(err)
	}
}

// code waits for the end, and returns the exit code; -1 for a signal.
func (p *process) code() int {
	p.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.Fatalf("the program still runs after %v", patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// wantCode waits for the end, and holds it against an exit code and what is printed to the standard error.
func (p *process) wantCode(want int, text string) {
	p.Helper()
	if got := p.code(); got != want {
		p.Errorf("exit code %d, want %d", got, want)
	}
	if !strings.Contains(p.errs.String(), text) {
		p.Errorf("printed %q, want a part of it to be %q", p.errs.String(), text)
	}
}

// await waits until the program has printed text to its standard error.
func (p *process) await(text string) {
	p.Helper()
	eventually(p, text, func() bool { return strings.Contains(p.errs.String(), text) })
}

// eventually waits until done.
func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("after %v: still waiting for %s", patience, what)
		}
	}
}
