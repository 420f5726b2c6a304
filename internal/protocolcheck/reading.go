package protocolcheck

// ReadingRules are the guards of reading a lane from a cursor instead of from its beginning.
type ReadingRules struct {
	IDFirst       bool // a writer has its transaction id before its numbers
	InOrder       bool // numbers are given out in order: the sequence caches none
	TrackWriters  bool // a writer that was running by the last snapshot is read for when it has ended
	TrackUnlisted bool // the next claim reads back to what had been returned before the last one
	TwoBack       bool // a writer that a snapshot lists for the first time may have missed by the claim before, too
	BelowReleased bool // the cursor goes below a released message
	BelowDue      bool // the cursor goes below a message that had blocked its key and is settled
	Nudge         bool // an operator's act tells every relay to read from the beginning
	NudgeTwice    bool // twice, because the claim that learns of it may have an older snapshot
}

// AllReadingRules returns the rule as it is.
func AllReadingRules() ReadingRules {
	return ReadingRules{true, true, true, true, true, true, true, true, true}
}

// Reading is a small world for one relay that reads one lane with a cursor.
type Reading struct {
	Keys     []byte // of the messages, in the order of their numbers; at most three
	Operator bool   // requeues and discards parked messages
	Rules    ReadingRules
}

// CheckReading explores every state of r, as [Check] does.
func CheckReading(r Reading, watch Invariant, limit int) (Report, error) {
	return explore(newReader(r), watch, limit)
}

// readState is everything that can differ from one moment to the next.
type readState struct {
	writers  [maxMessages]writer // that of message i writes nothing else
	messages [maxMessages]messageState
	nudged   bool // since the relay last looked
	claim    readClaim
	relay    horizon
}

// writer is a transaction.
type writer struct {
	hasID, numbered, ended bool
	listed                 bool // a later transaction has completed, so snapshots list this one while it runs
	below                  set  // writers with an id before its own
}

// readClaim is a claim on its way, or the messages that it returned.
type readClaim struct {
	stage   statementStage
	offered set // all that the snapshot has
	read    set // what it takes of that
	listed  set
	names   set // after the answer
	wasDue  set // those of names that had blocked their key
}

// horizon is the relay's memory, as in package gormstore.
type horizon struct {
	cursor  uint8 // read from here on
	highest uint8 // number returned so far
	base    uint8 // bound for writers that the last snapshot did not list
	listed  set
	low     [maxMessages]uint8 // bound for each writer that it did list
}
