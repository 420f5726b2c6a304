package kafka

import (
	"errors"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// options are the client's options in the order in which they are applied: what c says, what its
// ClientOptions add, and last what the promises of this package rest on.
func (c Config) options() []kgo.Opt {
	return slices.Concat(c.connection(), c.ClientOptions, c.safety())
}

func (c Config) connection() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID(c.ClientID),
		kgo.DialTimeout(c.RequestTimeout),
		kgo.WithLogger(clientLogger{c.Logger}),
	}
	if c.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(c.TLS))
	}
	if len(c.SASL) > 0 {
		opts = append(opts, kgo.SASL(c.SASL...))
	}
	if len(c.Compression) > 0 {
		opts = append(opts, kgo.ProducerBatchCompression(c.Compression...))
	}
	return opts
}

func (c Config) safety() []kgo.Opt {
	return []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MaxProduceRequestsInflightPerBroker(1), // the only value that the idempotent producer allows
		kgo.RecordPartitioner(partitioner{}),

		// All records of a flush are handed over before the first one leaves, but for those that what is left of the flush
		// before may take along, see flight.torn.
		kgo.ManualFlushing(),
		kgo.ProducerLinger(0),

		// A record that fails on its own, for want of room, would let later ones of its key pass. So there
		// is always room: a call's size is the caller's choice, and what is too large for a batch has been
		// refused before.
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.MaxBufferedBytes(0),
		kgo.ProducerBatchMaxBytes(int32(c.MaxMessageBytes)), //nolint:gosec // at most 64 MiB
		kgo.BrokerMaxWriteBytes(maxRequestBytes),

		// Only time ends retries, also of a batch that a frozen broker may or may not have taken.
		kgo.RecordRetries(math.MaxInt32),
		kgo.RecordDeliveryTimeout(c.DeliveryTimeout),
		kgo.ProduceRequestTimeout(c.RequestTimeout),
		kgo.RequestTimeoutOverhead(c.NetworkTimeout),
		kgo.AllowIdempotentProduceCancellation(),

		kgo.UnknownTopicRetries(unknownTopicRetries),
		kgo.MetadataMinAge(metadataMinAge),
	}
}

// checkClient refuses the options that cannot be overruled.
func checkClient(c *kgo.Client) error {
	isSet := func(opt any) bool { set, _ := c.OptValue(opt).(bool); return set }
	switch {
	case isSet(kgo.DisableIdempotentWrite):
		return errors.New("kafka: ClientOptions disable idempotent writes, which keep keys in order: remove the option")
	case c.OptValue(kgo.TransactionalID) != "":
		return errors.New("kafka: ClientOptions set a transactional id, which this publisher does not use: remove the option")
	case isSet(kgo.DefaultProduceTopicAlways):
		return errors.New("kafka: ClientOptions send every record to one topic: remove DefaultProduceTopicAlways")
	}
	return nil
}
