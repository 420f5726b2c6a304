package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Measure is what some rounds of a benchmark came to.
type Measure struct {
	Ratio  float64 `json:"ratio"` // median of processor time by that of the reference
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Allocs float64 `json:"allocs"` // fewest for an operation
}

const rounds = 5

// benchmark is one of a package, and how often it runs in a round, which is about a quarter of a second.
type benchmark struct{ dir, name, times string }

// reference is what all others are divided by.
var reference = benchmark{"internal/benchcheck", "BenchmarkReference", "3000x"}

// watched are the benchmarks that are.
func watched() []benchmark {
	return []benchmark{
		{"outbox", "BenchmarkRelay/key_ordered=true", "100000x"},
		{"outbox", "BenchmarkRelay/key_ordered=false", "100000x"},
		{"outbox", "BenchmarkPrepare", "200000x"},
		{"kafka", "BenchmarkEncode", "1000x"},
	}
}

// suite is where the test binaries lie.
type suite struct{ folder string }

// build compiles the test binaries, from the root of the module.
func build(ctx context.Context) (*suite, error) {
	folder, err := os.MkdirTemp("", "benchcheck")
	if err != nil {
		return nil, err
	}
	s := &suite{folder: folder}
	built := map[string]bool{}
	for _, b := range append(watched(), reference) {
		if built[b.dir] {
			continue
		}
		built[b.dir] = true
		out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", s.path(b), "./"+b.dir).CombinedOutput()
		if err != nil {
			s.remove()
			return nil, fmt.Errorf("build the benchmarks of %s: %w\n%s", b.dir, err, out)
		}
	}
	return s, nil
}

func (s *suite) path(b benchmark) string {
	return filepath.Join(s.folder, filepath.Base(b.dir)+".test")
}

func (s *suite) remove() { _ = os.RemoveAll(s.folder) }

// measure lets all of them take turns.
func (s *suite) measure(ctx context.Context) (map[string]Measure, error) {
	ratios, allocs := map[string][]float64{}, map[string][]float64{}
	for range rounds {
		unit, err := s.run(ctx, reference)
		if err != nil {
			return nil, err
		}
		for _, b := range watched() {
			r, err := s.run(ctx, b)
			if err != nil {
				return nil, err
			}
			ratios[b.name] = append(ratios[b.name], r.used/unit.used)
			allocs[b.name] = append(allocs[b.name], r.allocs)
		}
	}
	measures := map[string]Measure{}
	for name, r := range ratios {
		slices.Sort(r)
		measures[name] = Measure{
			Ratio: round(r[len(r)/2]), Low: round(r[0]), High: round(r[len(r)-1]), Allocs: slices.Min(allocs[name]),
		}
	}
	return measures, nil
}

func round(v float64) float64 { return math.Round(v*1_000) / 1_000 }

// result is a run of a benchmark: the processor time of its process in seconds, and allocations of an operation.
type result struct{ used, allocs float64 }

func (s *suite) run(ctx context.Context, b benchmark) (r result, err error) {
	command := exec.CommandContext(ctx, s.path(b), "-test.run=^$", "-test.bench="+pattern(b.name),
		"-test.benchtime="+b.times, "-test.benchmem")
	command.Dir = b.dir
	out, err := command.CombinedOutput()
	if err != nil {
		return r, fmt.Errorf("run %s of %s: %w\n%s", b.name, b.dir, err, out)
	}
	allocs, found := allocations(string(out), b.name)
	if !found {
		return r, fmt.Errorf("run %s of %s: there is no such benchmark\n%s", b.name, b.dir, out)
	}
	state := command.ProcessState
	return result{(state.UserTime() + state.SystemTime()).Seconds(), allocs}, nil
}

// pattern matches a benchmark, and no other whose name begins like it.
func pattern(name string) string { return "^" + strings.ReplaceAll(name, "/", "$/^") + "$" }

// allocations reads them from a line such as "BenchmarkX/case-2   100   12.5 ns/op   0 B/op   3 allocs/op".
func allocations(out, name string) (allocs float64, found bool) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != name && !strings.HasPrefix(fields[0], name+"-") {
			continue
		}
		if fields[len(fields)-1] == "allocs/op" {
			allocs, err := strconv.ParseFloat(fields[len(fields)-2], 64)
			return allocs, err == nil
		}
	}
	return 0, false
}
