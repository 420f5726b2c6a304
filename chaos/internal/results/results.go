// Package results adds up the trials of the fault suite in a file, and writes the page about them.
package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/postroom/postroom/verify"
)

// Figures are what a trial, or all of them, came to.
type Figures struct {
	Faults      map[string]int `json:"faults"` // by kind
	FaultCount  int            `json:"fault_count"`
	Messages    int            `json:"messages"`    // committed
	RolledBack  int            `json:"rolled_back"` // by transactions or parts of them
	Delivered   int            `json:"delivered"`   // at least once
	Skipped     int            `json:"skipped"`     // set aside, because no relay survives them or no broker takes them
	Lost        int            `json:"lost"`
	Reordered   int            `json:"reordered"`   // first deliveries against the order of commits of their key
	Uncommitted int            `json:"uncommitted"` // delivered though not committed
	Misrouted   int            `json:"misrouted"`
	Duplicates  int            `json:"duplicates"`
	// DuplicateBound is how many messages were in claims that ended unsettled in the time of a fault.
	DuplicateBound int `json:"duplicate_bound"`
	Unexplained    int `json:"unexplained"` // duplicates that no fault explains, or more than it does
	Leaks          int `json:"leaks"`       // goroutines, connections, channels, relays that ended by themselves
	// RecoverySeconds is the time from the last fault until the outbox was empty; of several trials the longest.
	RecoverySeconds float64 `json:"recovery_seconds"`
	RelayStarts     int     `json:"relay_starts"`
}

// Run is one trial.
type Run struct {
	Seed    uint64    `json:"seed"`
	Broker  string    `json:"broker"`
	Nodes   int       `json:"nodes"`
	Started time.Time `json:"started"`
	Seconds int       `json:"seconds"` // while faults happened
	Relays  int       `json:"relays"`
	Rate    int       `json:"rate"` // messages a second, asked of the writers
	Figures
}

// File is all trials, and what they add up to.
type File struct {
	Figures
	Runs []Run `json:"runs"`
}

// Count takes the verifier's figures over.
func (f *Figures) Count(r *verify.Report) {
	f.Messages, f.RolledBack, f.Delivered, f.Skipped = r.Committed, r.Aborted, r.Delivered, r.Skipped
	f.Lost, f.Reordered, f.Uncommitted = r.Lost.Total, r.Reordered.Total, r.Uncommitted.Total
	f.Misrouted, f.Duplicates, f.DuplicateBound = r.Misrouted.Total, r.Duplicates, r.DuplicateBound
	f.Unexplained = r.Unexplained.Total + r.Excess.Total
}

// Open reads the file at path; one that does not exist is empty.
func Open(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	if err != nil {
		return nil, err
	}
	f := &File{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return f, nil
}

// Add adds a trial, in the place of an earlier one of the same seed, broker and nodes.
func (f *File) Add(r Run) {
	r.FaultCount = 0
	for _, n := range r.Faults {
		r.FaultCount += n
	}
	f.Runs = slices.DeleteFunc(f.Runs, func(o Run) bool {
		return o.Seed == r.Seed && o.Broker == r.Broker && o.Nodes == r.Nodes
	})
	f.Runs = append(f.Runs, r)
	slices.SortFunc(f.Runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Seed, b.Seed))
	})
	f.Figures = Figures{Faults: map[string]int{}}
	for _, r := range f.Runs {
		f.add(r.Figures)
	}
}

func (f *Figures) add(o Figures) {
	for kind, n := range o.Faults {
		f.Faults[kind] += n
	}
	f.FaultCount += o.FaultCount
	f.Messages += o.Messages
	f.RolledBack += o.RolledBack
	f.Delivered += o.Delivered
	f.Skipped += o.Skipped
	f.Lost += o.Lost
	f.Reordered += o.Reordered
	f.Uncommitted += o.Uncommitted
	f.Misrouted += o.Misrouted
	f.Duplicates += o.Duplicates
	f.DuplicateBound += o.DuplicateBound
	f.Unexplained += o.Unexplained
	f.Leaks += o.Leaks
	f.RelayStarts += o.RelayStarts
	f.RecoverySeconds = max(f.RecoverySeconds, o.RecoverySeconds)
}

// Save writes the file as a whole or not at all.
func (f *File) Save(path string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
