package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postroom/postroom/verify"
)

const verifyLong = `Judge what an outbox promises by what happened: nothing committed is lost, nothing
arrives that was rolled back, each key is in order, and nothing arrives twice without a fault that explains it.

With files alone, it reads recorded histories (docs/verify.md has the format). With --kafka, --amqp or --config it looks
at what a broker has of a topic, and holds it against the files or, without any, against the outbox in the database: its
archive (gormstore.Config.Archive) and what it still holds. It joins no consumer group, takes nothing from a queue of
yours, and changes nothing but a queue of its own on RabbitMQ while it watches.

--config is the configuration of a relay: it names the database and the brokers, and how to log in.

It exits with 3 when it found something.`

const verifyExample = `  postroom verify journal.jsonl arrivals.jsonl
  postroom verify --kafka localhost:9092 --topic orders --since 6h
  postroom verify --amqp amqp://localhost --topic orders --for 5m --json
  postroom verify --config relay.yaml --transport events --topic orders --since 6h`

// verification is one run of the command.
type verification struct {
	target    *target
	files     []string
	topic     string
	place     place
	bindings  []string
	stream    string
	since     time.Duration
	slack     time.Duration
	watch     time.Duration
	witnesses int

	errs     io.Writer
	checker  *verify.Checker
	ledger   *ledger
	nameless int // arrivals that no outbox sent
	notes    []string
}

func newVerify(t *target) *cobra.Command {
	v := &verification{target: t}
	c := &cobra.Command{
		Use:     "verify [history.jsonl…]",
		Short:   "Check what arrived against what was committed",
		Long:    verifyLong,
		Example: verifyExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, files []string) error {
			v.files, v.errs = files, c.ErrOrStderr()
			if err := v.place.find(t, c); err != nil {
				return usageError{err}
			}
			return v.run(c.Context(), c.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.StringVar(&v.topic, "topic", "", "the topic to look at: a Kafka topic, or an exchange of RabbitMQ")
	v.place.register(flags)
	flags.StringSliceVar(&v.bindings, "routing-key", []string{"#"}, "what to bind the watching queue by")
	flags.StringVar(&v.stream, "stream", "", "read this RabbitMQ stream instead of binding a queue to the exchange")
	flags.DurationVar(&v.since, "since", time.Hour, "Kafka and streams: look back this far")
	flags.DurationVar(&v.slack, "slack", 10*time.Minute, "Kafka and streams: how late a settle may have come")
	flags.DurationVar(&v.watch, "for", 0, "go on watching for this long (default: RabbitMQ 30s, otherwise 0)")
	flags.IntVar(&v.witnesses, "witnesses", 10, "examples to print of each finding")
	return c
}

func (v *verification) run(ctx context.Context, out io.Writer) error {
	if err := v.check(); err != nil {
		return usageError{err}
	}
	v.checker = verify.NewChecker(verify.Config{Witnesses: v.witnesses, Foreign: v.live()})
	for _, name := range v.files {
		if err := v.read(name); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	if v.live() {
		if err := v.look(ctx); err != nil {
			return err
		}
	}
	report := v.checker.Report()
	if report.Committed+report.Unknown == 0 {
		v.note("no message is known to be committed, so none could be missed")
	}
	if err := v.print(out, report); err != nil {
		return err
	}
	if !report.OK() {
		return findingError{errors.New("the outbox did not keep its promises")}
	}
	return nil
}

func (v *verification) live() bool { return v.place.kafka != nil || v.place.amqp != nil }

func (v *verification) check() error {
	switch {
	case !v.live() && len(v.files) == 0:
		return errors.New("nothing to verify: give files of a history, or --kafka, --amqp or --config with --topic")
	case !v.live() && v.topic != "":
		return errors.New("--topic is for --kafka, --amqp and --config: a history has its topics in it")
	case v.live() && v.topic == "":
		return errors.New("--topic is missing: which topic or exchange to look at")
	case v.since <= 0 || v.slack < 0 || v.watch < 0 || v.witnesses < 1:
		return errors.New("--since and --witnesses are above zero, --slack and --for not negative")
	}
	if v.place.amqp != nil && v.stream == "" {
		v.watch = cmp.Or(v.watch, 30*time.Second)
	}
	return nil
}

// read adds a file of records.
func (v *verification) read(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for r, err := range verify.Records(file) {
		if err != nil {
			return err
		}
		if err := v.checker.Add(r); err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) note(format string, args ...any) {
	v.notes = append(v.notes, fmt.Sprintf(format, args...))
}

func (v *verification) print(out io.Writer, r *verify.Report) error {
	if v.target.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			OK    bool     `json:"ok"`
			Notes []string `json:"notes,omitempty"`
			*verify.Report
		}{r.OK(), v.notes, r})
	}
	if _, err := r.WriteTo(out); err != nil || len(v.notes) == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "note: %s\n", strings.Join(v.notes, "\nnote: "))
	return err
}
