package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profile begins a CPU profile, if profiles are wanted, and returns what ends it.
func (r *benchRun) profile(name string) (stop func() error, err error) {
	if r.profiles == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(r.profiles, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of profiles: %w", err)
	}
	file, err := os.Create(filepath.Join(r.profiles, name+".pprof"))
	if err != nil {
		return nil, fmt.Errorf("make a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("start a profile: %w", err), file.Close())
	}
	return func() error { pprof.StopCPUProfile(); return file.Close() }, nil
}
