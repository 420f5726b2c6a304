package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postroom/postroom/cmd/postroom/internal/database"
	"github.com/postroom/postroom/cmd/postroom/internal/doctor"
	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
	"github.com/postroom/postroom/gormstore"
)

// doctorFlags say what to look at.
type doctorFlags struct {
	config     string
	kafka      []string
	amqp       []string
	management string
	maxAge     time.Duration
}

func newDoctor(t *target) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what stops or slows the outbox, and say how to mend it",
		Long: `Doctor looks at the tables, the database and the brokers, names what is wrong, and says how to mend it.

It changes nothing. It exits with 3 if it finds more than notices. Its checks are listed in docs/doctor.md. Give it the
configuration of a relay, or a database, and --kafka or --amqp for brokers; of two brokers, messages that name no
transport are taken to go to Kafka.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.read(t, cmd)
			if err != nil {
				return usageError{err}
			}
			report, err := f.examine(cmd.Context(), c)
			if err != nil {
				return err
			}
			if err := t.print(cmd, report, func(w io.Writer) { writeReport(w, report) }); err != nil {
				return err
			}
			if n := report.Faults(); n > 0 {
				return findingError{fmt.Errorf("%d findings", n)}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "configuration of the relay")
	flags.StringSliceVar(&f.kafka, "kafka", nil, "host:port of brokers of Kafka")
	flags.StringSliceVar(&f.amqp, "amqp", nil, "amqp://… addresses of RabbitMQ")
	flags.StringVar(&f.management, "management", "", "http://… address of RabbitMQ's management API")
	flags.DurationVar(&f.maxAge, "max-age", 5*time.Minute, "how long a message may wait that is due")
	return cmd
}

// read reads the configuration, or makes one of the flags.
func (f doctorFlags) read(t *target, cmd *cobra.Command) (relayconf.Config, error) {
	transports := f.transports()
	if f.config != "" && len(transports) > 0 {
		return relayconf.Config{}, errors.New("the configuration names the brokers: give no --kafka, --amqp or --management")
	}
	c, err := t.relayConfig(cmd, f.config, transports...)
	if err == nil && c.Database.URL == "" {
		err = errors.New("no database: give --config or --database, or set DATABASE_URL")
	}
	return c, err
}

// transports are the keys that the flags stand for.
func (f doctorFlags) transports() (variables []string) {
	if len(f.kafka) > 0 {
		variables = append(variables, relayconf.Variable("transports.kafka.kafka.brokers", f.kafka...),
			relayconf.Variable("default_transport", "kafka"))
	}
	if len(f.amqp) > 0 {
		variables = append(variables, relayconf.Variable("transports.amqp.amqp.urls", f.amqp...))
	}
	if f.management != "" {
		variables = append(variables, relayconf.Variable("transports.amqp.amqp.management", f.management))
	}
	return variables
}

func (f doctorFlags) examine(ctx context.Context, c relayconf.Config) (_ doctor.Report, err error) {
	log := c.Logger(io.Discard) // findings are its words
	brokers, err := c.OpenTransports(log)
	if err != nil {
		return doctor.Report{}, usageError{err}
	}
	defer func() { err = errors.Join(err, relayconf.CloseAll(brokers)) }()
	db, err := c.Database.OpenOne()
	if err != nil {
		return doctor.Report{}, usageError{err}
	}
	defer func() { err = errors.Join(err, database.Close(db)) }()
	store, err := gormstore.Open(db, c.StoreConfig(log))
	if err != nil {
		return doctor.Report{}, usageError{err}
	}
	if err := database.Ping(ctx, db); err != nil {
		return doctor.Report{}, err
	}
	return doctor.Examine(ctx, doctor.Patient{
		DB: db, Store: store, Schema: c.Database.Schema, Name: c.Database.Name,
		Brokers: brokers, MaxAge: f.maxAge, Now: time.Now,
	}), nil
}

// sentence is the text with what it is about, unless the text or the check says that already.
func sentence(f doctor.Finding) string {
	if f.Subject == f.Check || strings.HasPrefix(f.Text, f.Subject) {
		return f.Text
	}
	return f.Subject + ": " + f.Text
}

func writeReport(w io.Writer, r doctor.Report) {
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s: %s: %s\n  fix: %s\n", f.Severity, f.Check, plain(sentence(f)), plain(f.Fix))
	}
	switch n := r.Faults(); n {
	case 0:
		fmt.Fprintf(w, "%d checks, nothing wrong\n", len(r.Checks))
	case 1:
		fmt.Fprintf(w, "%d checks, 1 finding to mend\n", len(r.Checks))
	default:
		fmt.Fprintf(w, "%d checks, %d findings to mend\n", len(r.Checks), n)
	}
}
