package mutants

import "slices"

const (
	memClaim   = "outbox/memstore/claim.go"
	memEnqueue = "outbox/memstore/enqueue.go"
	memLanes   = "outbox/memstore/lanes.go"
	memSettle  = "outbox/memstore/settle.go"
	memStore   = "outbox/memstore/store.go"
	storeTest  = "./outbox/memstore#TestStore/"
)

// Store breaks the reference store once for every case of storetest.
func Store() []Mutant {
	return slices.Concat(storeEnqueue, storeLanes, storeClaim, storeOrder, storeSettle, storeRecovery)
}

var storeEnqueue = []Mutant{
	{"a rollback commits", memEnqueue, "tx)); err != nil {\n\t\treturn err", "tx)); err != nil {\n\t\ts.commit(tx.finish())\n\t\treturn err", storeTest + "enqueue/stores_what_commits_and_nothing_that_rolls_back"},
	{"no transaction is no error", memEnqueue, "return outbox.ErrNoTransaction", "return nil", storeTest + "enqueue/refuses_a_context_without_a_transaction"},
	{"a finished transaction takes messages", memEnqueue, "return outbox.ErrTransactionDone", "return nil", storeTest + "enqueue/refuses_a_finished_transaction"},
	{"a refused message takes its neighbours along", memEnqueue, "if err != nil {\n\t\treturn err\n\t}\n\treturn tx.add", "if err != nil {\n\t\t_ = tx.finish()\n\t\treturn err\n\t}\n\treturn tx.add", storeTest + "enqueue/leaves_the_transaction_usable_after_a_refusal"},
	{"headers are lost", memClaim, "m := *r.Message", "m := *r.Message; m.Headers = nil", storeTest + "enqueue/gives_back_every_field_as_it_was"},
	{"a call is stored backwards", memEnqueue, "rows := make([]*row, len(messages))", "rows := make([]*row, len(messages)); slices.Reverse(messages)", storeTest + "enqueue/takes_any_number_of_messages_in_their_order"},
	{"a nested transaction is its own", memEnqueue, "if _, ok := ctx.Value(txKey{s}).(*transaction); ok {", "if _, ok := ctx.Value(txKey{s}).(*transaction); ok && false {", storeTest + "enqueue/joins_the_transaction_of_its_context"},
}

var storeLanes = []Mutant{
	{"the last lane is forgotten", memLanes, "for n, l := range s.lanes {\n\t\tif l.owner == id {", "for n, l := range s.lanes[:len(s.lanes)-1] {\n\t\tif l.owner == id {", storeTest + "lanes/go_to_the_only_session"},
	{"lanes move undrained", memLanes, "slices.Contains(r.Drained, n) && ", "", storeTest + "lanes/are_shared_fairly_after_being_drained"},
	{"lanes move under a claim", memLanes, " && !s.isClaimed(n)", "", storeTest + "lanes/stay_while_a_claim_names_a_message_of_them"},
	{"the epoch is not asked for", memClaim, " && own.epoch == l.Epoch", "", storeTest + "lanes/change_their_epoch_when_they_are_lost"},
	{"a session revives", memLanes, "case !own.alive(now):", "case false:", storeTest + "lanes/of_an_expired_session_are_taken_and_it_never_lives_again"},
	{"a renewal renews nothing", memLanes, "case expires.After(own.expires):\n\t\town.expires = expires", "case expires.After(own.expires):", storeTest + "lanes/are_kept_by_renewal_alone"},
	{"a release frees nothing", memLanes, "own.stopped = true\n\t}\n\ts.bury(id)", "own.stopped = true\n\t}", storeTest + "lanes/are_free_at_once_after_release"},
}

var storeClaim = []Mutant{
	{"a claimed message is claimed again", memClaim, "p.claimed = true", "p.claimed = false", storeTest + "claim/takes_a_message_once"},
	{"the limit is one too few", memClaim, "len(picked) == r.Limit", "len(picked) == r.Limit-1", storeTest + "claim/stops_at_its_limit_and_goes_on_from_there"},
	{"the first message has to fit", memClaim, "len(picked) > 0 && bytes > r.Bytes", "bytes > r.Bytes", storeTest + "claim/stops_at_its_bytes_but_always_takes_the_first"},
	{"a key has no bound", memClaim, "perKey[d.Key]++", "", storeTest + "claim/bounds_the_messages_of_one_key"},
	{"a lane is read that was not asked for", memClaim, "if own := &s.lanes[l.Lane]; own.owner == r.Session && own.epoch == l.Epoch && room > 0 {", "if own := &s.lanes[(l.Lane+1)%len(s.lanes)]; own.owner == r.Session && room > 0 {", storeTest + "claim/reads_only_the_lanes_that_were_asked_for"},
	{"a claimed message holds nothing", memClaim, "if r.state.blocks() || r.claimed {", "if r.state.blocks() {", storeTest + "claim/leaves_the_later_messages_of_its_keys_to_nobody"},
	{"the schedule is ignored", memClaim, ", r.due.After(now):", ":", storeTest + "claim/waits_for_the_time_of_a_scheduled_message"},
	{"void counts an attempt", memClaim, "s.messages[id].claimed = false", "s.messages[id].claimed = false; s.messages[id].attempts++", storeTest + "claim/undone_leaves_no_trace"},
	{"void changes no epoch", memClaim, "s.move(l.Lane, r.Session)", "_ = l", storeTest + "claim/undone_before_it_ran_cannot_come_to_exist"},
}

var storeOrder = []Mutant{
	{"a retry holds nothing", memStore, "return s == retrying || s == suspect", "return s == suspect", storeTest + "order/holds_a_key_behind_a_message_that_waits"},
	{"a deferred message holds nothing", memSettle, "r.state, r.due = retrying,", "r.state, r.due = map[bool]state{true: scheduled, false: retrying}[o.Verdict == outbox.Defer],", storeTest + "order/holds_a_key_behind_a_deferred_message"},
	{"a parked message holds nothing", memStore, " || s == parked }", " }", storeTest + "order/holds_a_key_behind_a_parked_message"},
	{"a skipped message holds its key", memSettle, "r.state = skipped", "r.state = parked", storeTest + "order/lets_a_key_go_on_past_a_message_that_was_set_aside"},
	{"a retried message goes to the end", memSettle, "r.state, r.due = retrying,", "s.lanes[r.lane].remove(r); s.seq++; r.seq = s.seq; s.lanes[r.lane].add(r); r.state, r.due = retrying,", storeTest + "order/resumes_in_order_after_a_retry"},
	{"the first due of a key comes first", memClaim, "case held, ", "case held && r.state != retrying, ", storeTest + "order/retries_messages_of_a_key_in_their_order"},
	{"a scheduled message is never held", memClaim, "case held, ", "case held && r.state != scheduled, ", storeTest + "order/holds_a_scheduled_message_that_is_due"},
	{"a released message goes to the end", memSettle, "r.claimed = false", "r.claimed = false; s.lanes[r.lane].remove(r); s.seq += 2; r.seq = s.seq + 1; s.lanes[r.lane].add(r)", storeTest + "order/takes_up_a_released_message_before_later_ones"},
	{"a low number that commits late is passed over", memEnqueue, "s.lanes[r.lane].add(r)", "if r.seq >= s.seq-1 { s.lanes[r.lane].add(r) }", storeTest + "order/finds_a_message_that_committed_after_later_ones"},
}

var storeSettle = []Mutant{
	{"delivered messages are not counted", memSettle, "changed++", "", storeTest + "settle/removes_what_was_delivered"},
	{"a release is an attempt", memSettle, "r.claimed = false", "r.claimed = false; r.attempts++", storeTest + "settle/of_a_released_message_writes_nothing"},
	{"a deferral is a failure", memSettle, "if o.Verdict != outbox.Defer {", "if true {", storeTest + "settle/counts_attempts_and_failures_apart"},
	{"a retry does not wait", memSettle, "time.Now().Add(o.RetryIn)", "time.Now()", storeTest + "settle/waits_as_long_as_it_was_told"},
	{"parked messages come back", memClaim, "r.state == parked, r.state == skipped, ", "", storeTest + "settle/never_returns_a_parked_message"},
	{"a lost claim can be settled", memSettle, "return 0, outbox.ErrClaimLost", "own = new(claim)", storeTest + "settle/works_once"},
}

var storeRecovery = []Mutant{
	{"recovered messages are ready at once", memLanes, "= false, suspect, time.Time{}, true", "= false, ready, time.Time{}, true", storeTest + "recovery/turns_a_dead_sessions_claim_into_suspects"},
	{"a crash is blamed on nobody", memLanes, "r.crashes++", "", storeTest + "recovery/counts_a_crash_only_against_a_message_that_was_alone"},
	{"suspects hold nothing", memStore, "s == retrying || s == suspect ||", "s == retrying ||", storeTest + "recovery/keeps_the_order_of_a_key_through_suspicion"},
	{"suspects hold everything", memClaim, "picked := bound(due, r)", "picked := bound(due, r); if len(suspects) > 0 && !r.Suspect { picked = nil }", storeTest + "recovery/lets_other_keys_go_on"},
	{"a dead claim keeps its token", memLanes, "delete(s.claims, token)\n", "_ = token\n", storeTest + "recovery/fences_the_dead"},
	{"a release forgets the claims", memLanes, "own.stopped = true\n\t}\n\ts.bury(id)", "own.stopped = true\n\t}\n\tfor n := range s.lanes {\n\t\tif s.lanes[n].owner == id {\n\t\t\ts.move(n, uuid.Nil)\n\t\t}\n\t}", storeTest + "recovery/of_a_released_session_leaves_no_claim_behind"},
	{"nobody is told of the next expiry", memLanes, "soonest = d", "_ = d", storeTest + "recovery/is_announced_by_the_time_that_is_left"},
	{"a rollback wakes", memEnqueue, "tx)); err != nil {\n\t\treturn err", "tx)); err != nil {\n\t\ts.mu.Lock()\n\t\tdefer s.mu.Unlock()\n\t\ts.wake(nil)\n\t\treturn err", storeTest + "wake/tells_of_a_commit_and_not_of_a_rollback"},
}
