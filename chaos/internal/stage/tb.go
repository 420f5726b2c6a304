//go:build unix

package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// scope lets a program use servers that are made for tests: what a test would fail by is an error here.
type scope struct {
	testing.TB // has a private method; what is not overridden here is not called

	mu       sync.Mutex
	cleanups []func()
	problems []error
	failed   bool
}

// fatal is what ends a step.
type fatal struct{ error }

func (s *scope) Helper()                         {}
func (s *scope) Context() context.Context        { return context.Background() }
func (s *scope) Logf(format string, args ...any) { s.note(fmt.Errorf(format, args...)) }
func (s *scope) Error(args ...any)               { s.fail(errors.New(fmt.Sprint(args...))) }
func (s *scope) Errorf(format string, a ...any)  { s.fail(fmt.Errorf(format, a...)) }
func (s *scope) Fatal(args ...any)               { panic(fatal{errors.New(fmt.Sprint(args...))}) }
func (s *scope) Fatalf(format string, a ...any)  { panic(fatal{fmt.Errorf(format, a...)}) }

// Failed tells nodes to say in the end what they logged.
func (s *scope) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *scope) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

func (s *scope) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
	s.problems = append(s.problems, err)
}

func (s *scope) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err)
}

// try runs a step and returns what a test would have failed by.
func (s *scope) try(step func(tb testing.TB)) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case fatal:
			err = p.error
		default:
			panic(p)
		}
	}()
	step(s)
	return nil
}

// close ends everything, the last first, and returns all that went wrong.
func (s *scope) close() error {
	s.mu.Lock()
	cleanups := s.cleanups
	s.cleanups = nil
	s.mu.Unlock()
	for _, f := range slices.Backward(cleanups) {
		_ = s.try(func(testing.TB) { f() }) // kept in problems
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.failed {
		return nil
	}
	return errors.Join(s.problems...)
}
