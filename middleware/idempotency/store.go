package idempotency

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// ErrLost is what an owner gets that no longer holds its key, because its lease ran out and another one took over.
// Roll back: nothing of this run may stay.
var ErrLost = errors.New("idempotency: key lost to another owner after its lease ran out")

// Store remembers keys. All times are the store's own clock. Methods may be called at the same time.
type Store interface {
	// Reserve takes the key for r.Owner if nobody holds it, and commits that before it returns. Its ctx carries no
	// transaction. A key is free when it was never taken, when it was released, when the lease of an owner that did not
	// complete it has run out, and when the time of its answer is over. It returns what is held under the key
	// afterwards: a Record whose Owner is r.Owner means that the caller may run. To lose a race is no error, but
	// the winner's Record; to repeat a call whose answer was lost is safe.
	Reserve(ctx context.Context, r Reservation) (Record, error)
	// Complete records the answer in the transaction of this store that ctx carries, so that the answer, what the handler
	// wrote and its messages commit together or not at all. It returns [ErrLost] when c.Owner does not hold the key or
	// has completed it already, and outbox.ErrNoTransaction or outbox.ErrTransactionDone where there is none to record
	// it in. From Complete to the end of that transaction nobody else can take the key, even after the lease.
	Complete(ctx context.Context, c Completion) error
	// Release frees the key at once if owner holds it and has not completed it; otherwise it does nothing. It commits
	// before it returns, and waits for an open transaction in which the key was completed.
	Release(ctx context.Context, key Key, owner uuid.UUID) error
}

// Reservation asks for the right to run one request.
type Reservation struct {
	Key Key
	// Owner is drawn at random for one run of a request. It alone says who holds the key; fingerprints never do.
	Owner       uuid.UUID
	Fingerprint Fingerprint
	Lease       time.Duration // how long the key stays reserved if the owner dies; above 0
}

// Fingerprint is the SHA-256 hash of what makes a request the same one when it is repeated.
type Fingerprint [32]byte

// Record is what is held under a key.
type Record struct {
	Owner       uuid.UUID
	Fingerprint Fingerprint // of the owner's request
	Answer      *Answer     // nil until it is completed
}

// Completion is the end of a run.
type Completion struct {
	Key    Key
	Owner  uuid.UUID
	Answer Answer
	Keep   time.Duration // how long the answer is kept
}
