// Package outbox is a transactional outbox: messages that an application stores in the same database
// transaction as its own rows, and a relay that publishes them to a broker once that transaction has committed.
//
// A commit followed by a publish loses the message when the process dies in between; a publish followed by
// a commit announces what never happened. Here the handler only writes:
//
//	err := store.Transaction(ctx, func(tx *gormstore.Tx) error {
//		if err := tx.Create(&order).Error; err != nil {
//			return err
//		}
//		return tx.Enqueue(ctx, &outbox.Message{Topic: "orders", Key: order.ID, Type: "OrderPlaced", Payload: body})
//	})
//
// and a relay, in this process or in another one, does the rest:
//
//	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
//	…
//	err = relay.Run(ctx)
//
// # What is promised
//
// A committed message is published at least once, and a rolled back one never. Its ID is the same on every
// attempt, on every broker and from every relay. It is delivered only when the broker has said that it holds the
// message. If the writers of a key hold a common lock before they enqueue, the broker's first acceptance of each
// message of the key happens in enqueue order, through retries, crashes and handovers. A message that cannot be
// delivered delays its own key and nothing else, and is never dropped.
//
// # What is not promised
//
// Exactly once: a crash between the broker's word and the settle publishes again, under the same ID, and consumers
// drop what they have seen. Order between keys, and order among writers that do not serialize a key.
//
// # What becomes of a message
//
// A relay claims it, hands it over, and settles it by what the publisher says:
//
//	Accepted                 delivered: removed, or kept for a while where the store has an archive
//	the zero Result          never handed over: put back, as if nothing had been
//	Unavailable, Unknown,    tried again, for ever; an outage of hours parks nothing
//	RetryAfter
//	any other error,         a failure: tried again with backoff, and after Policy.MaxAttempts of them parked
//	Unroutable
//	Permanent                parked at once
//
// While it waits for another try, and while it is parked, later messages of its key are held. [Policy].OnExhausted can
// let them pass, or end the relay. A parked message stays until an operator requeues, discards or skips it.
//
// # What else a store can do
//
// A relay and operators ask a store for more than [Store], each part by itself: [LaneRenewer] and [LaneReleaser] for
// leases, [Waker] for news of commits, [Pruner] for what is past its time; [Backlogger] for what is stored and how old,
// [Inspector] for finding messages and acting on them, [Pauser] for holding them back, and [Overseer] for who relays
// and what fails. gormstore has them all, and memstore all but Pruner.
//
// # How it is put together
//
// A [Store] is what the database must do and a [Publisher] what the broker must do; a [Relay] stands between them:
// claim, publish, settle. The outbox is cut into lanes by hashing each message's key; a relay holds leases on lanes,
// so several relays share the work and a key is never in two hands. This package knows no database and no
// broker; it imports the standard library and google/uuid.
package outbox
