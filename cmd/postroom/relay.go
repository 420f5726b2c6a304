package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
)

func newRelay(t *target) *cobra.Command {
	var file string
	var show bool
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Relay messages from the database to Kafka and RabbitMQ",
		Long: `Relay publishes what was committed to the outbox, and settles it by the broker's word.

It runs until it gets SIGTERM or SIGINT: then it finishes the batches in hand, settles them, gives up its lanes and
exits with 0. A second signal kills it. It exits with 2 if its configuration is wrong, before it opens anything, and
with 1 if it cannot start, or if a message is exhausted whose policy is stop.

The keys of the configuration are listed in docs/relay.md. Each has a variable of the environment, which wins over
the file: relay.workers is POSTROOM__RELAY__WORKERS. --database, --schema and --name win over both.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.relayConfig(cmd, file)
			if err != nil {
				return usageError{err}
			}
			if show {
				return printConfig(cmd.OutOrStdout(), c, t.json)
			}
			return relay(cmd.Context(), c, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "file of the configuration (default: the environment alone)")
	cmd.Flags().BoolVar(&show, "print-config", false, "print the configuration without its secrets, and exit")
	return cmd
}

// relayConfig reads a configuration, with variables added to the environment; the flags of the root win over it.
func (t *target) relayConfig(cmd *cobra.Command, file string, variables ...string) (relayconf.Config, error) {
	c, err := relayconf.Read(file, append(os.Environ(), variables...))
	if err != nil {
		return c, err
	}
	if t.databaseURL != "" {
		c.Database.URL, c.Database.Password = relayconf.URL(t.databaseURL), ""
		c.Database.Control.URL, c.Database.Control.Password = "", "" // which may lead to another one
	} else if c.Database.URL == "" {
		c.Database.URL = relayconf.URL(t.getenv("DATABASE_URL"))
	}
	if cmd.Flags().Changed("schema") {
		c.Database.Schema = t.schema
	}
	if cmd.Flags().Changed("name") {
		c.Database.Name = t.name
	}
	return c, nil
}

func printConfig(out io.Writer, c relayconf.Config, asJSON bool) error {
	text, err := yaml.Marshal(c)
	if err != nil || !asJSON {
		_, write := out.Write(text)
		return errors.Join(err, write)
	}
	var plain map[string]any
	if err := yaml.Unmarshal(text, &plain); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(plain)
}

// relay runs a relay process until ctx ends.
func relay(ctx context.Context, c relayconf.Config, errs io.Writer) (err error) {
	p, err := newRelayProcess(c, c.Logger(errs))
	if err != nil {
		return usageError{err}
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.run(ctx); err != nil {
		p.log.Error("outbox: relay process ended", "error", err)
		return loggedError{err}
	}
	return nil
}
