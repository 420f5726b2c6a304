// Package protocolcheck explores the protocol by which relays claim, publish and settle: every order of its steps, in
// worlds small enough to see all of them. docs/protocol.md tells the protocol; here its rules are switches, and a test
// takes them away one at a time to show what each is for.
//
//	report, err := protocolcheck.Check(protocolcheck.Scenario{
//		Messages: []protocolcheck.Message{{Key: 'a'}, {Key: 'a'}}, Crashes: 1, Rules: protocolcheck.AllRules(),
//	}, protocolcheck.Everything, 100_000)
//	fmt.Println(report.Violation) // the shortest story of what goes wrong, or nil
//
// # What is modelled
//
// Two relays, A and B, with one worker each; a new session for every start and after every expiry; the session that a
// relay has left behind; one or two lanes; up to three messages; a broker that keeps what it accepts. The steps are
// those of [github.com/postroom/postroom/outbox.Store] and of the relay around it, cut where another statement can come
// between:
//
//   - AcquireLanes: a heartbeat that takes free lanes, with or without an answer; the takeover of an expired session in
//     two statements of a transaction, which a crash between them rolls back; a lane that drains, and in a later round
//     is given back.
//   - Claim: sent; its snapshot; its lock on the lanes and its commit in one, since nothing that waits for the lock can
//     come between. It may have no answer, and then commit long after, or never.
//   - Void: with or without an answer, and as a copy that arrives when the relay has gone on.
//   - Publish: each hand-over, acceptance, refusal and confirm; confirms that never come; copies that land later.
//   - Settle: sent and committed; without an answer it is repeated, and the first one may still arrive.
//   - ReleaseLanes: at a stop, and when a relay ends on an error with a claim in hand.
//   - Around them: commits in any order of the numbers, leases that run out, processes that die in any phase and start
//     again, operators that requeue and discard parked messages.
//
// A second, smaller model, [CheckReading], is about the cursor with which a store reads a lane: that it starts low
// enough to miss nothing that its snapshot offers, whatever writers are still open. With that shown, the first model
// reads whole lanes.
//
// # What is checked
//
// The constants of [Invariant]. All but one are looked at in every step. [NeverStuck] is looked at when all states are
// known: from each of them a settled state must be reachable by steps that can be counted on, without another fault,
// without an operator, and without a process that has died while another one runs.
//
// # What is abstracted
//
// Epochs are only ever compared, so the model keeps whether one has passed, not its number. A lapse, a crash or a lost
// answer may come at any moment, so there is no clock. A and B are alike, so a state and its mirror image count once.
// Counters stop at their bounds. One former session at a time: a relay that has left one behind waits for its recovery
// before it leaves another.
//
// # What is not covered
//
// Several workers in a relay (lanes are dealt to workers for good, so their claims never share one); clocks of relays
// that run at different speeds; a statement that takes effect by halves; a database that loses what it has committed;
// messages that are scheduled; the shares that lanes are dealt by. Larger worlds than those of the tests are not
// explored by them.
package protocolcheck
