//go:build unix

package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/postroom/postroom/chaos/internal/fault"
	"github.com/postroom/postroom/chaos/internal/fleet"
	"github.com/postroom/postroom/chaos/internal/load"
	"github.com/postroom/postroom/chaos/internal/record"
	"github.com/postroom/postroom/chaos/internal/stage"
	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/verify"
)

// trial is a run in progress.
type trial struct {
	Config
	scene    *fault.Scene
	runner   *fault.Runner
	recorder record.Recorder
	shop     *fleet.Relay
	address  string // of the shop

	committed, delivered, ended *os.File // the history
	outcome                     *Outcome
}

const (
	startLimit = 5 * time.Minute
	drainLimit = 5 * time.Minute
)

// Run makes a trial. An error means that it could not be made, or that the outbox did not drain.
func Run(ctx context.Context, c Config) (o *Outcome, err error) {
	t := &trial{Config: c.withDefaults(), outcome: &Outcome{Faults: map[string]int{}}}
	s, err := stage.Open(t.Broker, t.Nodes)
	defer func() { err = errors.Join(err, s.Close()) }()
	if err != nil {
		return nil, err
	}
	t.scene = &fault.Scene{Stage: s}
	defer func() { err = errors.Join(err, t.close(), t.keep(err)) }()
	if err := t.start(ctx); err != nil {
		return nil, fmt.Errorf("start the trial: %w", err)
	}
	if err := t.happen(ctx); err != nil {
		return nil, err
	}
	if err := t.heal(ctx); err != nil {
		return nil, errors.Join(err, t.logs())
	}
	if err := t.stop(ctx); err != nil {
		return nil, err
	}
	return t.outcome, t.judge(ctx)
}

// keep keeps the history and the relays' logs of a trial that broke a promise, or could not be made.
func (t *trial) keep(err error) error {
	if t.Keep == "" || err == nil && t.outcome.OK() {
		return nil
	}
	to := filepath.Join(t.Keep, fmt.Sprintf("%s-%d-seed-%d", t.Broker, t.Nodes, t.Seed))
	t.Tell("the history is kept in %s", to)
	return os.CopyFS(to, os.DirFS(t.scene.Folder))
}

// start brings everything to work.
func (t *trial) start(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s := t.scene
	for name, file := range map[string]**os.File{
		"committed.jsonl": &t.committed, "delivered.jsonl": &t.delivered, "ended.jsonl": &t.ended,
	} {
		if *file, err = os.Create(filepath.Join(s.Folder, name)); err != nil {
			return err
		}
	}
	if err := t.prepareDatabase(ctx); err != nil {
		return err
	}
	if err := t.prepareBroker(ctx); err != nil {
		return err
	}
	if err := t.openLoad(ctx); err != nil {
		return err
	}
	return t.startProcesses(ctx)
}

func (t *trial) openLoad(ctx context.Context) (err error) {
	config := load.Config{Seed: t.Seed, Rate: t.Rate, Writers: 6, Kafka: t.Broker == stage.Kafka}
	if !t.plain() {
		config.Poison = 15 * time.Second
	}
	t.scene.Load, err = load.Open(ctx, t.scene.Postgres.URL(), config, verify.NewWriter(t.committed))
	return err
}

// startProcesses starts relays and shop.
func (t *trial) startProcesses(ctx context.Context) error {
	s := t.scene
	args := append(s.RelayArgs(), "-lease", t.Lease.String(), "-patience", t.Patience.String(), "-break", t.Broken)
	s.Relays = fleet.Start(t.Programs.Relay, t.Relays, s.Folder, args...)
	if err := t.startShop(ctx); err != nil {
		return err
	}
	for _, r := range s.Relays {
		if err := r.Ready(ctx); err != nil {
			return fmt.Errorf("%w\n%s", err, r.Log())
		}
	}
	return nil
}

// happen lets writers write while faults happen.
func (t *trial) happen(ctx context.Context) error {
	t.runner = fault.NewRunner(t.scene, fault.Config{Seed: t.Seed, Only: t.Only, Quiet: t.Quiet, Tell: t.Tell})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	during := func(ctx context.Context, what string, do func(ctx context.Context) error) {
		wg.Go(func() {
			if err := do(ctx); err != nil {
				cancel(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	limited, stop := context.WithTimeout(ctx, t.Duration)
	defer stop()
	during(limited, "write", t.scene.Load.Run)
	if !t.plain() {
		shop := load.Shop{
			Address: t.address, Customers: 4, Pause: 200 * time.Millisecond, Journal: verify.NewWriter(t.committed),
		}
		during(limited, "place orders", shop.Run)
	}
	switch {
	case t.Deploys > 0:
		during(limited, "deploy", func(ctx context.Context) error { defer stop(); return t.deploy(ctx) })
	case !t.Calm:
		during(limited, "cause faults", t.runner.Run)
	}
	during(limited, "watch", t.watch)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return errors.Join(err, t.logs())
	}
	return nil
}

// watch tells now and then how it goes.
func (t *trial) watch(ctx context.Context) error {
	begin := time.Now()
	for wait.For(ctx, 15*time.Second) {
		backlog, err := t.scene.Load.Backlog(ctx)
		if err != nil {
			backlog = -1
		}
		t.Tell("%7.1f s  %d committed, %d delivered, %d in the outbox, %d faults", time.Since(begin).Seconds(),
			t.scene.Load.Written(), t.recorder.Delivered(), backlog, len(t.runner.Events()))
	}
	return nil
}

// deploy restarts one relay after another, in order, and demands that each ends well.
func (t *trial) deploy(ctx context.Context) error {
	for n := range t.Deploys {
		relay := t.scene.Relays[n%len(t.scene.Relays)]
		if err := relay.Restart(); err != nil {
			return fmt.Errorf("restart %s: %w\n%s", relay.Name, err, relay.Log())
		}
		if err := relay.Ready(ctx); err != nil {
			return err
		}
		t.outcome.Faults["restart under load"]++
		if !wait.For(ctx, 300*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// logs are what relays said last, as an error beside another one.
func (t *trial) logs() error {
	var errs []error
	for _, r := range t.scene.Relays {
		errs = append(errs, fmt.Errorf("%s said last:\n%s", r.Name, r.Log()))
	}
	return errors.Join(errs...)
}

// close ends what is still there; the stage ends the servers.
func (t *trial) close() error {
	var errs []error
	for _, r := range t.processes() {
		_ = r.Stop() // of a trial that failed, or stopped before
	}
	if t.recorder != nil {
		errs = append(errs, t.recorder.Close())
	}
	if t.scene.Load != nil {
		errs = append(errs, t.scene.Load.Close())
	}
	for _, file := range []*os.File{t.committed, t.delivered, t.ended} {
		if file != nil {
			_ = file.Close()
		}
	}
	return errors.Join(errs...)
}

func (t *trial) processes() []*fleet.Relay {
	if t.shop == nil {
		return t.scene.Relays
	}
	return append([]*fleet.Relay{t.shop}, t.scene.Relays...)
}
