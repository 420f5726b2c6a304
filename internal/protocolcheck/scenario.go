package protocolcheck

// Scenario is a small world to explore: a few messages, and how often each thing may go wrong. Two relays take part in
// each. The zero value of a bound means never, [Always] means any number of times.
type Scenario struct {
	Messages []Message // in the order of their numbers, at most three
	Lanes    int       // 1 or 2. Defaults to 1.
	Rules

	Lapses       uint8 // leases that run out although the relay lives; that of a dead one always does
	Crashes      uint8 // processes that die; any number of them start again
	Stops        uint8 // processes that are told to stop
	Breaks       uint8 // publishers that break their contract, so that the relay ends without a settle
	Refusals     uint8 // messages that the broker refuses
	LostConfirms uint8 // sends whose outcome is never heard of; a copy may land at any later time
	LostAnswers  uint8 // statements whose answer never comes; they may take effect at any later time
	GiveBacks    uint8 // lanes that are given back to be shared

	Limit        int   // messages that a claim takes. Defaults to all.
	MaxFailures  uint8 // refusals after which a message is parked. Defaults to 2.
	MaxCrashes   uint8 // lonely crashes after which a message is parked. Defaults to 2.
	Requeue      bool  // an operator requeues parked messages
	Discard      bool  // an operator discards parked messages
	PartialTakes bool  // a relay may take one of two free lanes
	KeyOrdered   bool  // the publisher takes a whole claim and keeps each key in order by itself
	SkipClaimed  bool  // the store passes over messages that any claim names, which it need not do
	Unserialized bool  // writers of a key do not wait for one another
}

// Always is a bound that is never used up.
const Always = 255

// Message is what is known of a message before it is committed.
type Message struct {
	Key  byte // 0 for none
	Lane int  // counted from 0
}

const (
	maxMessages = 3
	maxLanes    = 2
)

func (c Scenario) withDefaults() Scenario {
	if c.Lanes == 0 {
		c.Lanes = 1
	}
	if c.Limit == 0 {
		c.Limit = maxMessages
	}
	if c.MaxFailures == 0 {
		c.MaxFailures = 2
	}
	if c.MaxCrashes == 0 {
		c.MaxCrashes = 2
	}
	return c
}
