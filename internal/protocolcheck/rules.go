package protocolcheck

// Rules are the guards of the protocol, each of which can be taken away. The zero value has none; [AllRules] has all.
type Rules struct {
	// Claim.
	LockLanes       bool // the claim locks its lanes and judges them as they are then, not as its snapshot has them
	CompareEpochs   bool // a claim under an epoch that has passed gets nothing of that lane
	CompareOwner    bool // a claim gets nothing of a lane that its session does not own
	CompareLease    bool // a claim gets nothing once its session's lease has run out
	HoldBehindRetry bool // nothing later of a key is claimed while an earlier message waits, is tried again or is parked
	HoldSuspects    bool // nor while an earlier message is a suspect
	HoldInClaim     bool // both are decided by the claim, and not by a mark that a failure leaves on those behind it
	RequeueHolds    bool // a message that an operator requeues holds its key until it is settled
	BoundStops      bool // a claim that is full ends there; it does not pass over a message to take a later one
	VoidUnanswered  bool // a claim without an answer is voided before the next one
	VoidEpochs      bool // voiding raises the epochs of the claim's lanes
	VoidLater       bool // voiding looks for the claim by a later statement than the one that raises the epochs

	// Publish.
	CheckAge    bool // nothing is handed over once the lease that the claim was made under has run out
	Waves       bool // a message is handed over when all earlier ones of its key in the claim are confirmed
	AwaitSends  bool // a stopping relay waits for the word on everything that it handed over
	ConfirmOnly bool // only a confirm makes a message delivered

	// Settle.
	Token         bool // a settle needs its claim's token to be there
	TokenFirst    bool // a settle takes the token and does the rest with it, instead of looking first and writing later
	RepeatSettle  bool // a settle without an answer is repeated until it has one
	CountUnknowns bool // a message whose outcome is unknown has used an attempt

	// Lanes and sessions.
	NewSession     bool // a process that starts is a new session
	FoldDeletes    bool // recovery deletes the claims of the dead session
	FoldCounts     bool // recovery counts an attempt for each message of those claims
	FoldLater      bool // recovery looks for the claims by a later statement than the one that frees the lanes
	Drain          bool // a lane to be given back is first no longer claimed
	GiveBackWaits  bool // a lane is given back only when no claim names a message of it
	GiveBackLater  bool // and the look for such claims comes after the lane is locked
	ReleaseLast    bool // lanes are released when the work on the last claim has ended
	ReleaseRecover bool // a session that ends recovers what it has claimed
	NeverRevive    bool // a heartbeat does not revive a session
}

// AllRules returns the protocol as it is.
func AllRules() Rules {
	return Rules{
		LockLanes: true, CompareEpochs: true, CompareOwner: true, CompareLease: true,
		HoldBehindRetry: true, HoldSuspects: true, HoldInClaim: true,
		RequeueHolds: true, BoundStops: true,
		VoidUnanswered: true, VoidEpochs: true, VoidLater: true,
		CheckAge: true, Waves: true, AwaitSends: true, ConfirmOnly: true,
		Token: true, TokenFirst: true, RepeatSettle: true, CountUnknowns: true,
		NewSession: true, FoldDeletes: true, FoldCounts: true, FoldLater: true,
		Drain: true, GiveBackWaits: true, GiveBackLater: true, ReleaseLast: true, ReleaseRecover: true,
		NeverRevive: true,
	}
}
