// Package amqp publishes outbox messages to RabbitMQ over AMQP 0-9-1.
//
//	publisher, err := amqp.Open(amqp.Config{URLs: []string{"amqp://user:password@broker:5672/"}})
//	…
//	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
//
// A message goes to the exchange named by its topic, under its type as the routing key; [Config.Route]
// changes both. Exchanges, queues and bindings belong to the application: this package declares nothing, and
// [Publisher.Check] tells at the start of a program what is missing.
//
// # What is promised
//
// Accepted means that the broker confirmed a persistent, mandatory message and did not return it: every queue
// that it was routed to holds it, on disk or on a quorum of replicas. What went wrong is told apart:
//
//   - unroutable (no exchange, or no binding takes the message): [outbox.Unroutable]
//   - refused by a queue that is full (overflow reject-publish) or a quorum queue without a leader:
//     [outbox.RetryAfter], which counts no failure
//   - refused by permissions: [outbox.RetryAfter] too; messages of other exchanges go on
//   - impossible (larger than the broker takes, a property that AMQP cannot encode): [outbox.Permanent]
//   - sent without an answer (connection lost, limit passed): [outbox.Unknown], a copy may be in a queue
//   - not sent (broker away, or blocked by a memory or disk alarm): [outbox.Unavailable]
//
// A broker that is away at the start, or goes away later, is no error of this package. It connects when it
// has to publish, waits between failed attempts, and answers Unavailable at once in the meantime.
//
// A message that makes the broker close the channel is found and fails alone. Those on their way beside it are
// sent again on a new channel, under the same id, so some of them may arrive more than once. To keep that rare,
// exchanges are looked up on a connection of their own before anything is sent, and what AMQP cannot encode
// is refused before it is sent.
//
// # What is not promised
//
// A message with a header CC or BCC is refused: they are RabbitMQ's own, and where a message goes is for its topic and
// [Config.Route] to say. Expiration and priority are never set.
//
// AMQP has no tombstones: a nil payload arrives as an empty body. Header names are unique on the wire: of
// duplicates the last one wins. With an alternate exchange, "routed" includes what the alternate exchange
// took. A queue that drops its oldest message when it is full (overflow drop-head, RabbitMQ's default)
// confirms and drops in silence.
//
// A negative confirm breaks the order of a key that has several messages on the way, so KeyOrdered is false
// and the relay sends one message of a key at a time, unless [Config.TrustQueues] says that it cannot happen.
package amqp
