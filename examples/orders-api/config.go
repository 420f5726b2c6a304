package main

import (
	"cmp"
	"fmt"
	"time"
)

// config is what the environment says.
type config struct {
	addr        string
	databaseURL string // "" is a SQLite file that ends with the process
	brokerURL   string // "" is a Kafka that ends with the process
	topic       string
	lease       time.Duration // 0 is the relay's own default
	api, relay  bool
}

func readConfig(getenv func(string) string) (config, error) {
	c := config{
		addr:        cmp.Or(getenv("ADDR"), "127.0.0.1:8080"),
		databaseURL: getenv("DATABASE_URL"),
		brokerURL:   getenv("BROKER_URL"),
		topic:       cmp.Or(getenv("TOPIC"), "orders"),
	}
	switch role := getenv("ROLE"); role {
	case "", "all":
		c.api, c.relay = true, true
	case "api":
		c.api = true
	case "relay":
		c.relay = true
	default:
		return config{}, fmt.Errorf("ROLE is %q: use all, api or relay", role)
	}
	alone := c.api != c.relay
	if alone && (c.databaseURL == "" || c.brokerURL == "") {
		return config{}, fmt.Errorf("ROLE %s shares its servers with other processes: set DATABASE_URL and BROKER_URL",
			getenv("ROLE"))
	}
	if text := getenv("OUTBOX_LEASE"); text != "" {
		lease, err := time.ParseDuration(text)
		if err != nil {
			return config{}, fmt.Errorf("OUTBOX_LEASE is %q: use a duration such as 15s", text)
		}
		c.lease = lease
	}
	return c, nil
}

// consumer names the consumer group or the queue of shipping.
func (c config) consumer() string { return c.topic + "-shipping" }
