// Package kafka publishes outbox messages to Apache Kafka.
//
//	publisher, err := kafka.Open(kafka.Config{Brokers: []string{"broker-1:9092", "broker-2:9092"}})
//	…
//	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
//
// A message goes to the topic that it names, under its key, in the partition that the Java producer would
// choose (murmur2); without a key, partitions take turns. A nil payload is a tombstone. On the wire it is
// what Watermill's Kafka subscriber reads. Topics belong to the application: this package creates none.
//
// # What is promised
//
// Accepted means that every in-sync replica has the record. Within a call, what the broker accepted of a
// key is a prefix of what was given, so a relay may hand over whole claims ([Publisher.KeyOrdered]). What
// went wrong is told apart:
//
//   - impossible (larger than the topic takes, refused by the broker's rules): [outbox.Permanent]
//   - the topic is missing, forbidden or misconfigured: [outbox.RetryAfter]; messages of other topics go on
//   - sent without an answer (time-out, connection lost): [outbox.Unknown], a copy may be in the log
//   - not sent (no broker, no right to publish at all): [outbox.Unavailable]
//   - refused for a reason that may pass: retried with backoff
//
// A message that makes the broker refuse its batch is found and fails alone. A broker that is away at the
// start, or goes away later, is no error of this package.
//
// # How the order is kept
//
// An idempotent producer alone does not do it: a record handed over just after its predecessor was refused
// starts a new chain, and is accepted. Therefore a call uses a client that it shares with no other call,
// hands over all records of a flush before the first one leaves, puts at most one batch for each partition
// into a flush, sends a key to one topic per flush, and sends nothing more of a key that has failed.
//
// # What is not promised
//
// Time-outs break off sends that are on their way, so a message reported Unknown may arrive twice, under
// one id. While partitions are added to a topic its keys move, and their order with them, as with any Kafka
// producer.
package kafka
