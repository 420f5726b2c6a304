//go:build unix

package stage

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/testnodes"
)

// The brokers.
const (
	Kafka = "kafka"
	AMQP  = "amqp"
)

// Stage is the servers of one trial.
type Stage struct {
	Broker   string
	Folder   string // of everything else that a trial writes
	Postgres *testnodes.PostgresNode
	Kafka    []*testnodes.KafkaNode
	RabbitMQ []*testnodes.RabbitMQNode
	Database *Link   // between relays and PostgreSQL
	Links    []*Link // between relays and the broker's nodes, in their order

	scope   *scope
	proxies *proxies
}

// Open starts the servers: nodes of broker, which is Kafka or AMQP. Close the stage also after an error.
func Open(broker string, nodes int) (s *Stage, err error) {
	s = &Stage{Broker: broker, scope: &scope{}, proxies: newProxies()}
	if s.Folder, err = os.MkdirTemp("", "postroom-chaos-"); err != nil {
		return s, err
	}
	err = s.Try(func(tb testing.TB) {
		s.Postgres = testnodes.Postgres(tb, "max_wal_size=512MB", "checkpoint_timeout=60s")
		switch broker {
		case Kafka:
			s.Kafka = testnodes.Kafka(tb, nodes)
		case AMQP:
			s.RabbitMQ = testnodes.RabbitMQ(tb, nodes)
		default:
			tb.Fatalf("broker %q is neither %s nor %s", broker, Kafka, AMQP)
		}
	})
	if err != nil {
		return s, fmt.Errorf("start the servers: %w", err)
	}
	return s, s.link()
}

// link puts a proxy before each server.
func (s *Stage) link() (err error) {
	if s.Database, err = s.proxies.link("postgres", s.Postgres.Address()); err != nil {
		return err
	}
	for _, address := range s.addresses() {
		l, err := s.proxies.link(address, address)
		if err != nil {
			return err
		}
		s.Links = append(s.Links, l)
	}
	return nil
}

func (s *Stage) addresses() []string {
	var addresses []string
	for _, n := range s.Kafka {
		addresses = append(addresses, n.Address())
	}
	for _, n := range s.RabbitMQ {
		addresses = append(addresses, n.Address())
	}
	return addresses
}

// Try runs a step with servers and returns what went wrong.
func (s *Stage) Try(step func(tb testing.TB)) error { return s.scope.try(step) }

// Brokers are the addresses of Kafka's nodes themselves.
func (s *Stage) Brokers() []string { return s.addresses() }

// URLs are the addresses of RabbitMQ's nodes themselves.
func (s *Stage) URLs() []string {
	var urls []string
	for _, n := range s.RabbitMQ {
		urls = append(urls, n.URL())
	}
	return urls
}

// RelayArgs are the flags by which a relay finds the servers, by way of the proxies.
func (s *Stage) RelayArgs() []string {
	database := strings.Replace(s.Postgres.URL(), s.Postgres.Address(), s.Database.Address(), 1)
	args := []string{"-database", database + "&application_name=chaos-relay&connect_timeout=3"}
	if s.Broker == Kafka {
		var via []string
		for i, broker := range s.Brokers() {
			via = append(via, broker+"="+s.Links[i].Address())
		}
		return append(args, "-kafka", strings.Join(s.Brokers(), ","), "-via", strings.Join(via, ","))
	}
	urls := s.URLs()
	for i, n := range s.RabbitMQ {
		urls[i] = strings.Replace(urls[i], n.Address(), s.Links[i].Address(), 1)
	}
	return append(args, "-amqp", strings.Join(urls, ","))
}

// Nodes counts the broker's nodes.
func (s *Stage) Nodes() int { return len(s.Kafka) + len(s.RabbitMQ) }

// KillNode ends a node of the broker at once, and StartNode starts it again.
func (s *Stage) KillNode(i int) error {
	return s.Try(func(tb testing.TB) {
		if s.Broker == Kafka {
			s.Kafka[i].Kill(tb)
		} else {
			s.RabbitMQ[i].Kill(tb)
		}
	})
}

// StartNode returns once the node serves.
func (s *Stage) StartNode(i int) error {
	return s.Try(func(tb testing.TB) {
		if s.Broker == Kafka {
			s.Kafka[i].Start(tb)
		} else {
			s.RabbitMQ[i].Start(tb)
		}
	})
}

// Close ends the servers and removes all data.
func (s *Stage) Close() error {
	return errors.Join(s.proxies.close(), s.scope.close(), os.RemoveAll(s.Folder))
}
