// Package subject holds what is measured: ways from a filled table to a broker, and the parts of that way alone.
//
// Every subject gets a schema and a destination of its own, the same messages, and the same durability: transactions
// are flushed to disk, Kafka acknowledges with all replicas to an idempotent producer, RabbitMQ confirms persistent,
// mandatory messages of a quorum queue.
package subject
