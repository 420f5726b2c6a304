// Package wire is what writers, relays and consumers of the fault suite must agree on.
package wire

// Attempt is the header by which a relay marks each attempt to send a message.
const Attempt = "chaos-attempt"

// MaxMessage is the largest message in bytes that relays hand to Kafka.
const MaxMessage = 64 << 10

// Limit is a size in bytes that few messages exceed, and for a time the limit of topic Fragile.
const Limit = 2000

// The topics: Kafka's, and RabbitMQ's exchanges with a queue each.
const (
	Main    = "chaos-main"
	Fragile = "chaos-fragile" // loses its queue, its room, or its limit of size
	Orders  = "chaos-orders"  // of the shop
	Nowhere = "chaos-nowhere" // made when the faults are over
)

// The types of messages.
const (
	Plain       = "plain"
	Fatal       = "fatal"       // kills every relay that publishes it
	Large       = "large"       // more than MaxMessage
	OrderPlaced = "OrderPlaced" // the shop's
)
