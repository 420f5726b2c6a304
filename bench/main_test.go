package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/relays"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// TestMain lets the tests start relays, too.
func TestMain(m *testing.M) {
	if relays.Wanted() {
		if err := relays.Main(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var small = load.Workload{Messages: 600, Keys: 20, Size: 300}

func TestChoose(t *testing.T) {
	t.Parallel()

	t.Run("takes_all_for_an_empty_list", func(t *testing.T) {
		t.Parallel()
		got, err := choose(subject.All(), "")
		if err != nil || len(got) != len(subject.All()) {
			t.Errorf("choose = %d subjects, %v; want all %d", len(got), err, len(subject.All()))
		}
	})

	t.Run("keeps_the_usual_order", func(t *testing.T) {
		t.Parallel()
		got, err := choose(subject.All(), "raw-amqp,ours-kafka")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ours-kafka", "raw-amqp"}, names(got)); diff != "" {
			t.Errorf("chosen (-want +got):\n%s", diff)
		}
	})

	t.Run("names_the_known_ones_for_an_unknown_one", func(t *testing.T) {
		t.Parallel()
		_, err := choose(subject.All(), "ours-kafka,ours-pulsar")
		if err == nil || !strings.Contains(err.Error(), `"ours-pulsar"`) || !strings.Contains(err.Error(), "raw-amqp") {
			t.Errorf("error = %v, want one with the unknown name and the known ones", err)
		}
	})
}

func TestTurn(t *testing.T) {
	t.Parallel()
	t.Run("goes_forwards_and_backwards_in_turn", func(t *testing.T) {
		t.Parallel()
		steps := []step{{spec: subject.Spec{Name: "a"}}, {spec: subject.Spec{Name: "b"}}, {spec: subject.Spec{Name: "c"}}}
		order := ""
		for repeat := 1; repeat <= 3; repeat++ {
			for _, s := range turn(steps, repeat) {
				order += s.spec.Name
			}
		}
		if got, want := order, "abccbaabc"; got != want {
			t.Errorf("order = %s, want %s", got, want)
		}
	})
}

func TestCellOf(t *testing.T) {
	t.Parallel()
	t.Run("gives_a_fast_subject_a_multiple", func(t *testing.T) {
		t.Parallel()
		if got := cellOf(subject.Spec{Name: "fast", Times: 3}, small).Workload.Messages; got != 3*small.Messages {
			t.Errorf("messages = %d, want %d", got, 3*small.Messages)
		}
	})
	t.Run("gives_a_slow_subject_its_share", func(t *testing.T) {
		t.Parallel()
		got := cellOf(subject.Spec{Name: "slow", Share: 5}, small)
		fifth := load.Workload{Messages: 120, Keys: 20, Size: 300}
		want := results.Cell{Kind: results.Drain, Subject: "slow", Workload: fifth}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cell (-want +got):\n%s", diff)
		}
	})
}

func TestDrainSteps(t *testing.T) {
	t.Parallel()

	t.Run("give_what_is_compared_the_same_messages", func(t *testing.T) {
		t.Parallel()
		messages := map[load.Workload]int{}
		for _, s := range drainSteps(options{load: small}, subject.All()) {
			if s.spec.Name != subject.OursKafka && s.spec.Name != subject.RawKafka {
				continue
			}
			kind := s.cell.Workload
			kind.Messages = 0
			if n, ok := messages[kind]; ok && n != s.cell.Workload.Messages {
				t.Errorf("%s has %d messages, the other %d", s.spec.Name, s.cell.Workload.Messages, n)
			}
			messages[kind] = s.cell.Workload.Messages
		}
		hot, even := small, small
		hot.Messages, hot.Keys, even.Messages = 0, 1, 0
		if len(messages) != 4 || messages[hot] != messages[even] {
			t.Errorf("messages = %v, want four kinds, as many of one key as of all", messages)
		}
	})
}

// TestMeasure is not parallel: it measures.
func TestMeasure(t *testing.T) {
	at, err := servers.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	r := &benchRun{options: options{limit: time.Minute}, at: at, file: &results.File{}}

	o := options{rows: small.Messages, load: small, largest: 10 * small.Messages}
	for _, s := range storeSteps(o, subject.Stores()) {
		t.Run("drains_"+s.spec.Name+"_"+s.cell.Condition+fmt.Sprint(s.cell.Workload), func(t *testing.T) {
			got, err := r.measure(t.Context(), s.spec, s.cell, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got.Error != "" || got.Rate <= 0 || got.WAL <= 0 || got.CPU["database"] < 0 {
				t.Errorf("got %+v, want a rate and a log without an error", got)
			}
		})
	}

	for _, spec := range slices.Concat(subject.All(), subject.Publishers()) {
		t.Run("carries_everything_once_by_"+spec.Name, func(t *testing.T) {
			cell := cellOf(spec, small)
			s, err := r.measure(t.Context(), spec, cell, 1)
			if err != nil {
				t.Fatal(err)
			}
			if s.Error != "" || s.Rate <= 0 {
				t.Fatalf("rate = %v, error %q", s.Rate, s.Error)
			}
			want := load.Verdict{Delivered: cell.Workload.Messages}
			if spec.Broker == servers.None {
				want.Delivered = 0
			}
			want.Misordered = s.Arrived.Misordered // in how far a subject keeps the order is what the run shows
			if diff := cmp.Diff(want, s.Arrived); diff != "" {
				t.Errorf("arrived (-want +got):\n%s", diff)
			}
			if strings.Contains(spec.Name, "ours") && !s.Arrived.Ordered() {
				t.Errorf("%d messages out of order", s.Arrived.Misordered)
			}
		})
	}

	for _, s := range slices.Concat(latencySteps(o, subject.Flows()), relaySteps(o, relaySpecs())) {
		t.Run("measures_"+s.cell.Kind+"_of_"+s.spec.Name+"_"+s.cell.Condition, func(t *testing.T) {
			if s.cell.Kind == results.Latency {
				s.cell.Workload.Messages = small.Messages
			}
			got, err := r.measure(t.Context(), s.spec, s.cell, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got.Error != "" || len(got.Figures) == 0 || !got.Arrived.Ordered() || got.Arrived.Lossy() {
				t.Errorf("got %+v, want figures without an error, a loss or a message out of order", got)
			}
			r.file.Samples = append(r.file.Samples, got)
			r.file.Summarize()
		})
	}

	t.Run("shows_a_loss_of_a_subject_that_claims_to_be_done", func(t *testing.T) {
		s, err := r.measure(t.Context(), substitute(forgetful{}), cellOf(subject.Spec{}, small), 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(load.Verdict{Missing: small.Messages}, s.Arrived); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
	})

	t.Run("notes_the_error_of_a_subject_that_breaks_down", func(t *testing.T) {
		s, err := r.measure(t.Context(), substitute(broken{}), cellOf(subject.Spec{}, small), 1)
		if err != nil {
			t.Fatal(err)
		}
		if s.Error != errBroken.Error() || s.Rate != 0 || s.Arrived.Missing != small.Messages {
			t.Errorf("sample = %+v, want its error, no rate and nothing arrived", s)
		}
	})
}

// substitute is a subject that publishes nothing to Kafka.
func substitute(s subject.Subject) subject.Spec {
	return subject.Spec{
		Name: "substitute", Broker: servers.Kafka,
		Open: func(context.Context, subject.Site) (subject.Subject, error) { return s, nil },
	}
}

var errBroken = errors.New("broken down")

type forgetful struct{}

func (forgetful) Fill(context.Context) error  { return nil }
func (forgetful) Drain(context.Context) error { return nil }
func (forgetful) Close() error                { return nil }

type broken struct{ forgetful }

func (broken) Drain(context.Context) error { return errBroken }
