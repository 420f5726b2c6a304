package health

import (
	"encoding/json"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Cause is what is wrong, in the words that operators see.
type Cause string

// The causes.
const (
	CauseFailed         Cause = "relay_failed"    // a relay has ended with an error; not live
	CauseStuck          Cause = "relay_stuck"     // a relay makes no claims any more; not live
	CauseNotReady       Cause = "relay_not_ready" // a relay has not started, has no answer to its first round, or ends
	CauseStoreDown      Cause = "store_down"      // a relay waits for its store
	CausePublisherDown  Cause = "publisher_down"  // a relay waits for its broker
	CauseBacklogUnknown Cause = "backlog_unknown" // the store did not tell its backlog, in time or at all
	CauseOld            Cause = "backlog_old"     // the oldest message that is due is older than MaxAge
	CauseLarge          Cause = "backlog_large"   // more messages are due than MaxBacklog
	CauseParked         Cause = "messages_parked" // more messages are parked than MaxParked
)

// Problem is one thing that is wrong.
type Problem struct {
	Cause  Cause  `json:"cause"`
	Detail string `json:"detail"` // for people
}

// Report is the health of an outbox at one moment, as this process sees it.
type Report struct {
	Live     bool      `json:"live"`
	Ready    bool      `json:"ready"`
	Problems []Problem `json:"problems"`
	// Relays are the relays that were registered, in their order.
	Relays []outbox.Snapshot `json:"relays"`
	// Backlog is nil when it was not asked for or is not known; a problem tells the one from the other.
	Backlog *Backlog `json:"backlog"`
}

// Backlog is what the store holds. Known and empty, it has no messages and the age 0.
type Backlog struct {
	Messages map[outbox.Status]int
	Oldest   time.Duration // of the messages that are due: pending, in flight, retrying or suspect
	Capped   bool          // there are more messages than were counted
}

// MarshalJSON writes the age in seconds.
func (b Backlog) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Messages map[outbox.Status]int `json:"messages"`
		Oldest   float64               `json:"oldest_seconds"`
		Capped   bool                  `json:"capped"`
	}{b.Messages, b.Oldest.Seconds(), b.Capped})
}
