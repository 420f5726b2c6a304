package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/stats"
)

// File is a run: what was measured, on what, and what it comes to.
type File struct {
	Run       string             `json:"run"`
	Started   time.Time          `json:"started"`
	Machine   Machine            `json:"machine"`
	Versions  map[string]string  `json:"versions"`
	Ratios    map[string]float64 `json:"ratios,omitempty"`
	Absolutes map[string]float64 `json:"absolutes,omitempty"` // what has a target of its own, not against others
	Summaries []Summary          `json:"summaries,omitempty"`
	Samples   []Sample           `json:"samples"`
}

// Cell is one thing to measure.
type Cell struct {
	Kind     string        `json:"kind"` // what is measured, such as Drain
	Subject  string        `json:"subject"`
	Workload load.Workload `json:"workload"`
	// Condition is what goes on meanwhile, such as what the database suffers from, as package condition names it.
	Condition string `json:"condition,omitempty"`
}

// The kinds of cells.
const (
	Drain    = "drain"    // how fast a filled table is emptied
	Latency  = "latency"  // how long messages take while others come in
	Enqueue  = "enqueue"  // what Enqueue costs a transaction
	Relays   = "relays"   // how fast several processes empty a table
	Takeover = "takeover" // how long messages take when a relay ends
	Memory   = "memory"   // how much a process needs to empty a table
	Idle     = "idle"     // what a relay costs without messages
)

// Sample is one measurement of a cell.
type Sample struct {
	Cell
	Repeat  int          `json:"repeat"` // from 1
	Seconds float64      `json:"seconds"`
	Rate    float64      `json:"rate"`   // messages per second, start and end included
	Steady  float64      `json:"steady"` // the same for the middle 80 % of the messages
	Load    float64      `json:"load"`   // of the machine before it, as processes that want to run
	Arrived load.Verdict `json:"arrived"`
	Error   string       `json:"error,omitempty"`
	// CPU is the processor time of each process involved, in microseconds a message.
	CPU map[string]float64 `json:"cpu_us,omitempty"`
	// WAL is what the server wrote to its log, in bytes a message.
	WAL float64 `json:"wal_bytes,omitempty"`
	// Figures are what else is measured in cells of this kind, such as percentiles; names end with units.
	Figures map[string]float64 `json:"figures,omitempty"`
}

// Summary is what the samples of a cell come to. Its rates leave out samples with an error.
type Summary struct {
	Cell
	Rate    stats.Summary `json:"rate"`
	Steady  stats.Summary `json:"steady"`
	Arrived load.Verdict  `json:"arrived"` // of all samples together
	Errors  []string      `json:"errors,omitempty"`
	// CPU is the median processor time of each process involved, in microseconds a message.
	CPU map[string]float64 `json:"cpu_us,omitempty"`
	// WAL is the median of what the server wrote to its log, in bytes a message.
	WAL     float64                  `json:"wal_bytes,omitempty"`
	Figures map[string]stats.Summary `json:"figures,omitempty"`
}

// Sound reports whether everything arrived, in order, in every sample.
func (s Summary) Sound() bool {
	return s.Rate.Repeats > 0 && len(s.Errors) == 0 && s.Arrived.Ordered() && !s.Arrived.Lossy()
}

// Has reports whether the cell has been measured in this repeat.
func (f *File) Has(c Cell, repeat int) bool {
	for _, s := range f.Samples {
		if s.Cell == c && s.Repeat == repeat {
			return true
		}
	}
	return false
}

// Summarize brings Summaries up to date with Samples; the cells keep the order of their first sample.
func (f *File) Summarize() {
	var cells []Cell
	samples := map[Cell][]Sample{}
	for _, s := range f.Samples {
		if _, ok := samples[s.Cell]; !ok {
			cells = append(cells, s.Cell)
		}
		samples[s.Cell] = append(samples[s.Cell], s)
	}
	f.Summaries = nil
	for _, c := range cells {
		f.Summaries = append(f.Summaries, summarize(c, samples[c]))
	}
}

func summarize(c Cell, samples []Sample) Summary {
	s := Summary{Cell: c}
	var rates, steady, wal []float64
	used, figures := map[string][]float64{}, map[string][]float64{}
	for _, one := range samples {
		s.Arrived = s.Arrived.Add(one.Arrived)
		if one.Error != "" {
			s.Errors = append(s.Errors, one.Error)
			continue
		}
		rates, steady, wal = append(rates, one.Rate), append(steady, one.Steady), append(wal, one.WAL)
		gather(used, one.CPU)
		gather(figures, one.Figures)
	}
	s.Rate, s.Steady, s.WAL = stats.Of(rates), stats.Of(steady), stats.Of(wal).Median
	for part, us := range used {
		if s.CPU == nil {
			s.CPU = map[string]float64{}
		}
		s.CPU[part] = stats.Of(us).Median
	}
	for name, values := range figures {
		if s.Figures == nil {
			s.Figures = map[string]stats.Summary{}
		}
		s.Figures[name] = stats.Of(values)
	}
	return s
}

func gather(into map[string][]float64, from map[string]float64) {
	for name, value := range from {
		into[name] = append(into[name], value)
	}
}

// Open reads the run that lies at path, or returns an empty one if there is none.
func Open(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	f := &File{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("read results of %s: %w", path, err)
	}
	return f, nil
}

// Save writes the run to path, whole or not at all.
func (f *File) Save(path string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	beside := path + ".new"
	if err := os.WriteFile(beside, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
