//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/postroom/postroom/chaos/internal/stage"
	"github.com/postroom/postroom/chaos/internal/trial"
)

// TestShort causes faults for a short time, always in the same sequence.
func TestShort(t *testing.T) {
	t.Parallel()
	for broker, seed := range map[string]uint64{stage.Kafka: 1, stage.AMQP: 2} {
		t.Run(broker+"_loses_reorders_and_invents_nothing_through_faults", func(t *testing.T) {
			t.Parallel()
			o := try(t, trial.Config{Seed: seed, Broker: broker, Duration: 35 * time.Second, Rate: 500})
			check(t, o)
			if len(o.Faults) < 5 || o.Report.Delivered < 2_000 {
				t.Errorf("%d messages came through faults of %d kinds: %v", o.Report.Delivered, len(o.Faults), o.Faults)
			}
		})
	}
}

func TestDeployLoop(t *testing.T) {
	t.Parallel()
	for _, broker := range []string{stage.Kafka, stage.AMQP} {
		t.Run(broker+"_sees_no_copy_through_20_restarts_under_load", func(t *testing.T) {
			t.Parallel()
			o := try(t, trial.Config{
				Seed: 3, Broker: broker, Duration: 3 * time.Minute, Deploys: 20, Rate: 500,
				Lease: 15 * time.Second, Patience: 15 * time.Second, // on a busy machine, too
			})
			check(t, o)
			if o.Report.Duplicates > 0 || o.Report.Delivered < 1_000 || o.Faults["restart under load"] != 20 {
				t.Errorf("%d copies of %d messages in %v", o.Report.Duplicates, o.Report.Delivered, o.Faults)
			}
		})
	}
}

// TestBrokenRelay shows that the suite can fail.
func TestBrokenRelay(t *testing.T) {
	t.Parallel()

	t.Run("without_claims_is_found_by_copies_that_nothing_explains", func(t *testing.T) {
		t.Parallel()
		o := try(t, trial.Config{
			Seed: 4, Broker: stage.Kafka, Duration: 8 * time.Second, Broken: "claim", Calm: true, Rate: 300,
		})
		if o.Report.Unexplained.Total == 0 || o.OK() {
			t.Errorf("the verifier saw nothing: %+v", o.Report)
		}
	})

	t.Run("that_settles_before_the_broker_confirms_is_found_by_losses", func(t *testing.T) {
		t.Parallel()
		o := try(t, trial.Config{
			Seed: 5, Broker: stage.Kafka, Duration: 20 * time.Second, Broken: "confirm", Rate: 300,
			Only: []string{"kill a broker", "kill", "kill after settle"},
		})
		if o.Report.Lost.Total == 0 || o.OK() {
			t.Errorf("the verifier saw nothing: %+v", o.Report)
		}
	})
}

// programs are built once.
var programs trial.Programs

func TestMain(m *testing.M) {
	built, remove, err := trial.Build(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = built
	code := m.Run()
	remove()
	os.Exit(code)
}

func try(t *testing.T, c trial.Config) *trial.Outcome {
	t.Helper()
	c.Programs = programs
	c.Tell = func(format string, args ...any) { t.Logf(format, args...) }
	o, err := trial.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func check(t *testing.T, o *trial.Outcome) {
	t.Helper()
	if !o.Report.OK() {
		if _, err := o.Report.WriteTo(t.Output()); err != nil {
			t.Error(err)
		}
		t.Fail()
	}
	for _, p := range o.Problems {
		t.Error(p)
	}
	t.Logf("%d messages, %d copies of %d that faults excuse, recovery %v, faults %v",
		o.Report.Delivered, o.Report.Duplicates, o.Report.DuplicateBound, o.Recovery, o.Faults)
}
