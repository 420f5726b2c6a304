package subject

import (
	"context"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
)

// Subject carries a workload from a table to a broker.
type Subject interface {
	// Fill stores the workload. It is not measured.
	Fill(ctx context.Context) error
	// Drain delivers all of it. What lies between Site.Progress.Begin and End is measured: from the start until the
	// broker has confirmed the last message and its row is settled.
	Drain(ctx context.Context) error
	// Close lets go of everything but the data.
	Close() error
}

// Site is where a subject works.
type Site struct {
	servers.Addresses
	Database    string // the URL of PostgreSQL with a schema of the subject's own first in the search path
	Destination string // a Kafka topic or a RabbitMQ fanout exchange of the subject's own
	Load        load.Workload
	Progress    *Progress
}

// Spec is a subject that can be chosen.
type Spec struct {
	Name   string
	Broker servers.Kind
	// Share divides the number of messages, for a subject that is slow.
	Share int
	// Times multiplies it, for one that is fast.
	Times int
	Open  func(ctx context.Context, site Site) (Subject, error)
}

// The names of the subjects.
const (
	OursKafka       = "ours-kafka"
	OursAMQP        = "ours-amqp"
	RawKafka        = "raw-kafka"
	RawAMQP         = "raw-amqp"
	RawSQL          = "raw-sql"
	RawKafkaProduce = "raw-kafka-produce"
	RawAMQPPublish  = "raw-amqp-publish"
	ForwarderKafka  = "forwarder-kafka"
	ForwarderAMQP   = "forwarder-amqp"
	RiverKafka      = "river-kafka"
	RiverAMQP       = "river-amqp"
	SkipLockedKafka = "skip-locked-kafka"
	SkipLockedAMQP  = "skip-locked-amqp"
	OursSQL         = "ours-sql"
	SkipLockedSQL   = "skip-locked-sql"
)

// slow is the share of the subjects that publish one message after another.
const slow = 5

// All are the subjects, in the order in which they take turns.
func All() []Spec {
	kafka, rabbit := servers.Kafka, servers.RabbitMQ
	return []Spec{
		{Name: OursKafka, Broker: kafka, Open: openOurs(ourKafka)},
		{Name: RawKafka, Broker: kafka, Open: openPipeline(newKafkaSender)},
		{Name: RawKafkaProduce, Broker: kafka, Open: openPublishing(newKafkaSender)},
		{Name: SkipLockedKafka, Broker: kafka, Open: openSkipLocked(newKafkaSender)},
		{Name: RiverKafka, Broker: kafka, Open: openRiver(newKafkaSingle)},
		{Name: ForwarderKafka, Broker: kafka, Share: slow, Open: openForwarder(watermillKafka)},
		{Name: RawSQL, Open: openPipeline(newDiscard)},
		{Name: OursAMQP, Broker: rabbit, Open: openOurs(ourAMQP)},
		{Name: RawAMQP, Broker: rabbit, Open: openPipeline(newAMQPSender)},
		{Name: RawAMQPPublish, Broker: rabbit, Open: openPublishing(newAMQPSender)},
		{Name: SkipLockedAMQP, Broker: rabbit, Open: openSkipLocked(newAMQPSender)},
		{Name: RiverAMQP, Broker: rabbit, Open: openRiver(newAMQPSingle)},
		{Name: ForwarderAMQP, Broker: rabbit, Share: slow, Open: openForwarder(watermillAMQP)},
	}
}

// Stores are the subjects without a broker, in the order in which they take turns.
func Stores() []Spec {
	return []Spec{
		{Name: OursSQL, Open: openStoreLoop},
		{Name: RawSQL, Open: openPipeline(newDiscard)},
		{Name: SkipLockedSQL, Open: openSkipLocked(newDiscard)},
	}
}

// LargeBody is a body that just fits into a row without being moved out of it.
const LargeBody = 1_900

// The bounds of the relay's defaults, which the raw subjects keep too.
const (
	workers    = 4
	batch      = 500
	batchBytes = 8 << 20
	fillBatch  = 1_000
	eventType  = "bench.measured"
	mediaType  = "text/plain"
)
