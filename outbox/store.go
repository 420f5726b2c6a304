package outbox

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Store is what a database must do for a relay. All times are the database's own. Methods may be called at the same
// time, but one worker of a session makes its calls one after another. An error means that the outcome is
// unknown, unless it is one of this package's own. Optional capabilities: [LaneRenewer], [LaneReleaser], [Waker],
// [Inspector], [Pauser], [Backlogger], [Overseer], [Pruner].
type Store interface {
	// AcquireLanes is the heartbeat of a session and its round of rebalancing: it recovers sessions that have expired
	// (their claims count as attempts without a settle), keeps what the session holds up to its fair share, gives back
	// the rest once no claim names a message of it, and takes what is free. It returns [ErrSessionEnded] for a
	// session that expired or was stopped.
	AcquireLanes(ctx context.Context, r LaneRequest) (Lanes, error)

	// Claim records under r.Token, and returns, due messages of those lanes of r that the session still holds at the
	// given epoch: oldest first within a lane, bounded by count and bytes (a bound stops, it never skips, and the first
	// message always fits), and never one whose key has an earlier message that blocks. A message is in one
	// open claim at most, and until that is settled no other claim gets a later message of its key; a store may hold back
	// the rest of its lane as well, since a relay has one claim in a lane at a time. An empty claim records nothing.
	Claim(ctx context.Context, r ClaimRequest) (Claim, error)

	// Void undoes a claim whose answer never came: once it returns nil, the claim names no message and cannot come to
	// exist. It changes the epoch of r's lanes, so the relay acquires before it claims again. No attempt is counted.
	Void(ctx context.Context, r ClaimRequest) error

	// Settle ends a claim: it takes the claim by its token and applies outcomes, which has one for each message of c.
	// Each lane's part of that is atomic: a claim, a recovery or an operator that looks at the lane finds the claim open
	// and no outcome applied, or the claim gone and all of them, even if the process ends in between. A store that can
	// do so for all lanes at once does. Settle returns how many messages it delivered or changed; fewer than asked,
	// those released not counted, means that an operator acted on the others. It returns [ErrClaimLost] when the token is
	// gone in some lane, and changes nothing there. Any other error leaves open what was done; the relay repeats the
	// call, same token and outcomes, until it has an answer.
	Settle(ctx context.Context, c Claim, outcomes []Outcome) (int, error)
}

// LaneRenewer is a store that can extend the lease of all lanes of a session beside a running publish. RenewLanes
// never takes a lane and never revives a session: it returns [ErrSessionEnded] for one that expired or was
// stopped. The lanes of a store without it must be acquired again in time, so its relay needs MaxPublishDuration.
type LaneRenewer interface {
	RenewLanes(ctx context.Context, session uuid.UUID, lease time.Duration) error
}

// LaneReleaser is a store that can end a session at once: it stamps the session stopped, then frees its lanes. A
// claim that is still there is recovered as after a crash.
type LaneReleaser interface {
	ReleaseLanes(ctx context.Context, session uuid.UUID) error
}

// Waker is a store that knows when new messages were committed. Wake sends the lanes that have some, nil for any,
// and an empty list that is not nil when a session gave up its lanes; it coalesces, never blocks a writer, and
// closes the channel when ctx ends and nothing of it runs any more: a session of the relay does not end before that. A
// claim of those lanes that is made afterwards finds the messages. The relay polls all lanes all the same.
type Waker interface {
	Wake(ctx context.Context) <-chan []int
}

// LaneRequest asks for the lanes of a session.
type LaneRequest struct {
	Session uuid.UUID     // drawn at random for one run of a relay
	Relay   string        // a label for people
	Lease   time.Duration // how long the session lives without another heartbeat
	Drained []int         // lanes that the relay has stopped claiming, because the last answer called them draining
}

// Lanes is what a session holds.
type Lanes struct {
	Held []Lease // ascending by lane
	// Expiry is the time until the soonest other session expires; zero if there is none. Acquiring then recovers it.
	Expiry time.Duration
}

// Lease is a session's right to one lane.
type Lease struct {
	Lane     int
	Epoch    int64 // rises whenever the lane is lost, and fences what was sent under the old one
	Draining bool  // to be given back: claim it no more, and say so in the next LaneRequest
}

// ClaimRequest asks for a batch.
type ClaimRequest struct {
	Token   uuid.UUID // new for every claim, made by the relay: the claim's fencing token
	Session uuid.UUID
	Worker  int
	Lanes   []Lease
	Limit   int // messages, at least 1
	Bytes   int // bytes of payload; the first message is exempt
	PerKey  int // messages of one key; 0 means no bound of its own
	// Suspect asks for one message that was in a recovered claim, alone; otherwise such messages are left out.
	Suspect bool
}

// Claim is the batch that a worker is publishing.
type Claim struct {
	Token    uuid.UUID
	Session  uuid.UUID
	Worker   int
	Messages []*Claimed
	// Suspects reports that suspect messages are due in these lanes: ask for them with ClaimRequest.Suspect.
	Suspects bool
	// Dry reports that nothing else can be claimed in these lanes, now or once all of Messages are delivered, but for
	// suspects: no bound left anything out, and no message of the claim holds later ones of its key back. A store that is
	// not sure leaves it false, and the relay looks again.
	Dry bool
}

// Claimed is a message on its way, with what only relay and store know of it.
type Claimed struct {
	*Message
	Lane     int
	Attempts int  // earlier hand-overs that did not end in acceptance
	Failures int  // those of them that were refusals of this message
	Crashes  int  // claims of this message alone that ended without a settle
	Suspect  bool // it was in a recovered claim
	Handle   any  // the store's own, untouched by the relay
}

// Verdict is what becomes of a claimed message.
type Verdict int

// The verdicts. The zero Verdict writes nothing: the message was never handed over.
const (
	Release   Verdict = iota
	Delivered         // the broker holds it: delete or archive
	Defer             // wait RetryIn and hold the key; an attempt, no failure
	Retry             // wait RetryIn and hold the key; an attempt and a failure
	ParkKey           // set aside and hold the key; an attempt and a failure
	ParkOne           // set aside, the key goes on; an attempt and a failure
)

// Outcome is the verdict on one claimed message.
type Outcome struct {
	*Claimed
	Verdict Verdict
	RetryIn time.Duration // for Defer and Retry; the database adds it to its own clock
	Class   Class         // of Err
	Err     error         // why it was not accepted; nil when delivered or released
}
