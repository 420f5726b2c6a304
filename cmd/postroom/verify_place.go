package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
)

// place is where arrivals are looked for: on the one of two brokers that is not nil, or on none.
type place struct {
	config, transport string
	brokers           []string
	url               string

	kafka *relayconf.Kafka
	amqp  *relayconf.AMQP
}

func (p *place) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.config, "config", "", "configuration of a relay, which names the database and the brokers")
	flags.StringVar(&p.transport, "transport", "", "which of its transports to look at (default: its default)")
	flags.StringSliceVar(&p.brokers, "kafka", nil, "brokers to read the topic from, host:port")
	flags.StringVar(&p.url, "amqp", "", `URL of the RabbitMQ to watch the exchange on; "env" takes AMQP_URL of the
environment, so that no password is on the command line`)
}

// find reads the flags. A configuration also says where the database of t is.
func (p *place) find(t *target, c *cobra.Command) error {
	given := slices.DeleteFunc([]bool{p.config != "", len(p.brokers) > 0, p.url != ""}, func(is bool) bool { return !is })
	switch {
	case len(given) > 1:
		return errors.New("--kafka, --amqp and --config: look at one broker at a time")
	case p.transport != "" && p.config == "":
		return errors.New("--transport is one of a --config")
	case p.config != "":
		return p.findConfigured(t, c)
	case len(p.brokers) > 0:
		p.kafka = &relayconf.Kafka{Brokers: p.brokers}
	case p.url == "env":
		if p.url = t.getenv("AMQP_URL"); p.url == "" {
			return errors.New("--amqp env: AMQP_URL is not set")
		}
		fallthrough
	case p.url != "":
		p.amqp = &relayconf.AMQP{URLs: []relayconf.URL{relayconf.URL(p.url)}}
	}
	return nil
}

func (p *place) findConfigured(t *target, c *cobra.Command) error {
	config, err := t.relayConfig(c, p.config)
	if err != nil {
		return err
	}
	transport, ok := config.Transports[cmp.Or(p.transport, config.DefaultTransport)]
	if !ok {
		return fmt.Errorf("say by --transport which of %q to look at", slices.Sorted(maps.Keys(config.Transports)))
	}
	p.kafka, p.amqp = transport.Kafka, transport.AMQP
	t.databaseURL, t.schema, t.name = config.Database.Address(), config.Database.Schema, config.Database.Name
	return nil
}
