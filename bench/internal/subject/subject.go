package subject

import (
	"context"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/outbox"
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
	// Open makes a subject that drains a table, Flow one that carries what is written to it. A spec has one of them.
	Open func(ctx context.Context, site Site) (Subject, error)
	Flow func(ctx context.Context, site Site) (Flow, error)
}

// The names of the subjects.
const (
	OursKafka       = "ours-kafka"
	OursAMQP        = "ours-amqp"
	PipelinedKafka  = "ours-kafka-pipelined"
	PipelinedAMQP   = "ours-amqp-pipelined"
	RawKafka        = "raw-kafka"
	RawAMQP         = "raw-amqp"
	RawSQL          = "raw-sql"
	RawKafkaProduce = "raw-kafka-produce"
	RawAMQPPublish  = "raw-amqp-publish"
	ForwarderKafka  = "forwarder-kafka"
	ForwarderAMQP   = "forwarder-amqp"
	TunedKafka      = "forwarder-kafka-tuned"
	TunedAMQP       = "forwarder-amqp-tuned"
	RiverKafka      = "river-kafka"
	RiverAMQP       = "river-amqp"
	SkipLockedKafka = "skip-locked-kafka"
	SkipLockedAMQP  = "skip-locked-amqp"
	OursSQL         = "ours-sql"
	SkipLockedSQL   = "skip-locked-sql"
)

// slow is the share of the subjects that publish one message after another, and fast what those get more that empty
// the usual table in less than a second, so that their start does not count.
const (
	slow = 5
	fast = 4
)

// All are the subjects, in the order in which they take turns.
func All() []Spec {
	kafka, rabbit := servers.Kafka, servers.RabbitMQ
	return []Spec{
		{Name: OursKafka, Broker: kafka, Times: fast, Open: openOurs(ourKafka, outbox.Ordered)},
		{Name: PipelinedKafka, Broker: kafka, Times: fast, Open: openOurs(ourKafka, outbox.Pipelined)},
		{Name: RawKafka, Broker: kafka, Times: fast, Open: openPipeline(newKafkaSender)},
		{Name: RawKafkaProduce, Broker: kafka, Times: fast, Open: openPublishing(newKafkaSender)},
		{Name: SkipLockedKafka, Broker: kafka, Times: fast, Open: openSkipLocked(newKafkaSender)},
		{Name: RiverKafka, Broker: kafka, Open: openRiver(newKafkaSingle)},
		{Name: ForwarderKafka, Broker: kafka, Share: slow, Open: openForwarder(watermillKafka, forwarderBatch)},
		{Name: TunedKafka, Broker: kafka, Share: slow, Open: openForwarder(watermillKafka, tunedBatch)},
		{Name: OursAMQP, Broker: rabbit, Open: openOurs(ourAMQP, outbox.Ordered)},
		{Name: PipelinedAMQP, Broker: rabbit, Open: openOurs(ourAMQP, outbox.Pipelined)},
		{Name: RawAMQP, Broker: rabbit, Open: openPipeline(newAMQPSender)},
		{Name: RawAMQPPublish, Broker: rabbit, Open: openPublishing(newAMQPSender)},
		{Name: SkipLockedAMQP, Broker: rabbit, Open: openSkipLocked(newAMQPSender)},
		{Name: RiverAMQP, Broker: rabbit, Open: openRiver(newAMQPSingle)},
		{Name: ForwarderAMQP, Broker: rabbit, Share: slow, Open: openForwarder(watermillAMQP, forwarderBatch)},
		{Name: TunedAMQP, Broker: rabbit, Share: slow, Open: openForwarder(watermillAMQP, tunedBatch)},
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

// LargeDrain is a large body on its way to a broker.
const LargeDrain = 2_000

// The bounds of the relay's defaults, which the raw subjects keep too.
const (
	Workers    = 4
	BatchBytes = 8 << 20
	batch      = 500
)

const (
	fillBatch = 1_000
	eventType = "bench.measured"
	mediaType = "text/plain"
)
