package outbox

import (
	"context"
	"slices"
	"time"
)

// Backlogger is a store that can tell what it holds, at a cost that is bounded whatever that is, and whether or not a
// relay lives. An error means that the backlog is not known, which is not the same as none.
type Backlogger interface {
	Backlog(ctx context.Context) (Backlog, error)
}

// Backlog is what a store holds.
type Backlog struct {
	// Counts has one entry for each topic and status of which there are messages, by topic and then by status.
	Counts []BacklogCount
	// Capped reports that there are more messages than were looked at, so that the counts are lower bounds. What was
	// looked at is the oldest of each lane.
	Capped bool
}

// BacklogCount counts the messages of a topic that have one status. A message in a claim whose session has ended is
// counted by what it is without that claim.
type BacklogCount struct {
	Topic    string
	Status   Status
	Messages int
	// Oldest is how long ago the oldest of them was enqueued or, if it was scheduled, became due; 0 for none yet.
	Oldest time.Duration
}

// DueStatuses returns the statuses of messages that relays should be publishing. The others wait for their time or for
// someone.
func DueStatuses() []Status {
	return []Status{StatusPending, StatusRetrying, StatusSuspect, StatusInFlight}
}

// Messages returns how many messages have one of statuses.
func (b Backlog) Messages(statuses ...Status) int {
	n := 0
	for _, c := range b.of(statuses) {
		n += c.Messages
	}
	return n
}

// Oldest returns the age of the oldest message that has one of statuses; 0 if there is none.
func (b Backlog) Oldest(statuses ...Status) time.Duration {
	var oldest time.Duration
	for _, c := range b.of(statuses) {
		oldest = max(oldest, c.Oldest)
	}
	return oldest
}

func (b Backlog) of(statuses []Status) []BacklogCount {
	var counts []BacklogCount
	for _, c := range b.Counts {
		if slices.Contains(statuses, c.Status) {
			counts = append(counts, c)
		}
	}
	return counts
}
