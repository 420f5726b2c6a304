package relayconf

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// complete fills in what is not given, and refuses what can only be wrong. What packages check themselves is theirs.
func (c *Config) complete() error {
	if err := setDefaults(reflect.ValueOf(c).Elem()); err != nil {
		return err
	}
	if c.Database.MaxConnections == 0 {
		c.Database.MaxConnections = c.Relay.Workers + 4
	}
	if c.Relay.Renew == 0 {
		c.Relay.Renew = c.Relay.Lease / 3
	}
	if err := c.completeTransports(); err != nil {
		return err
	}
	for _, choice := range c.choices() {
		if !slices.Contains(choice.of, choice.value) {
			return fmt.Errorf("%s is %q: choose one of %s", choice.key, choice.value, strings.Join(choice.of, ", "))
		}
	}
	return c.checkLiveness()
}

// checkLiveness refuses a bound that takes a relay for stuck which waits for a slow broker.
func (c *Config) checkLiveness() error {
	for _, name := range slices.Sorted(maps.Keys(c.Transports)) {
		if longest := c.Transports[name].longest(); c.HTTP.Address != "" && c.Health.StuckAfter <= longest {
			return fmt.Errorf("health.stuck_after is %v, and publishing to transports.%s may take %v: make it longer than that",
				c.Health.StuckAfter, name, longest)
		}
	}
	return nil
}

// longest is how long the broker may let a call of Publish wait that goes well.
func (t *Transport) longest() time.Duration {
	if t.Kafka != nil {
		return t.Kafka.DeliveryTimeout
	}
	return time.Duration(len(t.AMQP.URLs))*t.AMQP.DialTimeout + t.AMQP.ConfirmTimeout
}

// completeTransports settles which is the default.
func (c *Config) completeTransports() error {
	for name, t := range c.Transports {
		if (t.Kafka == nil) == (t.AMQP == nil) {
			return fmt.Errorf("transports.%s: want either kafka or amqp", name)
		}
	}
	names := slices.Sorted(maps.Keys(c.Transports))
	if c.DefaultTransport == "" && len(names) == 1 {
		c.DefaultTransport = names[0]
	}
	if _, ok := c.Transports[c.DefaultTransport]; !ok && c.DefaultTransport != "" {
		return fmt.Errorf("default_transport is %q: name one of transports (%s)",
			c.DefaultTransport, strings.Join(names, ", "))
	}
	return nil
}

// choice is a key that takes one of a few words.
type choice struct {
	key, value string
	of         []string
}

func (c *Config) choices() []choice {
	all := []choice{
		{"relay.mode", c.Relay.Mode, words(modes)},
		{"log.level", c.Log.Level, words(levels)},
		{"log.format", c.Log.Format, []string{"json", "text"}},
		{"relay.policy.on_exhausted", c.Relay.Policy.OnExhausted, words(exhausted)},
	}
	for topic, p := range c.Relay.Topics {
		all = append(all, choice{
			"relay.topics." + topic + ".on_exhausted", p.OnExhausted, append(words(exhausted), ""),
		})
	}
	for name, t := range c.Transports {
		at := "transports." + name
		if t.Kafka != nil {
			all = append(all, choice{at + ".kafka.sasl.mechanism", t.Kafka.SASL.Mechanism, append(words(mechanisms), "")},
				choice{at + ".kafka.cloudevents.mode", t.Kafka.CloudEvents.Mode, words(eventModes)})
			for _, codec := range t.Kafka.Compression {
				all = append(all, choice{at + ".kafka.compression", codec, words(codecs)})
			}
		}
		if t.AMQP != nil {
			all = append(all, choice{at + ".amqp.route", t.AMQP.Route, words(routes)},
				choice{at + ".amqp.cloudevents.mode", t.AMQP.CloudEvents.Mode, words(eventModes)})
		}
	}
	return all
}

func words[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
