// Package watermilladapter connects the outbox with Watermill, in both directions.
//
// A CQRS application already publishes through a Watermill publisher. [NewPublisher] is one that stores the message
// in the transaction of the caller instead of sending it, so an EventBus becomes transactional and no handler changes:
//
//	publisher := watermilladapter.NewPublisher(store, watermilladapter.PublisherConfig{})
//	bus, err := cqrs.NewEventBusWithConfig(publisher, config)
//	…
//	err = store.Transaction(ctx, func(tx *gormstore.Tx) error {
//		return bus.Publish(tx.Context(), OrderPlaced{…})
//	})
//
// With an [outbox.Registry], [EventBusConfig] and [CommandBusConfig] know topics, names and keys. [Inbox] is for the
// consumer: each message id is handled once, in a transaction of the handler.
//
// The other direction is the relay's: [Sink] publishes stored messages through any Watermill publisher, and
// [Plugin] runs a relay for as long as a Watermill router runs. [Direct] turns one of this module's publishers into a
// Watermill publisher for messages that need no outbox. [Subscriber] delivers stored messages to handlers in the same
// process, without any broker.
//
// # How a message is mapped
//
// Metadata become headers and headers become metadata, one to one, sorted by name. Some names mean more:
//
//	name            also the message's Type; it stays in place, because Watermill's event processors read it
//	partition_key   also the message's Key (the name is configurable); it stays in place
//	correlation_id  an ordinary header
//	type, version, tenant, content-type
//	                the fields of that name; a message that was consumed and is published again carries them
//	created_at, _watermill_message_uuid
//	                dropped: a stored message gets its own time, and its id is the message's UUID
//
// # What is promised
//
// The UUID of the Watermill message is the message's ID in the table and on every broker; where the context gives ids,
// see [outbox.WithIDs], it is set to one of those first. A message outside a
// transaction is [outbox.ErrNoTransaction], never a direct publish.
//
// # What is not promised
//
// Metadata are a map: of several headers of one name, Watermill sees the last. A Watermill publisher reports one error
// for a call and not what became of it, so after an error of one a copy may be with the broker.
package watermilladapter
