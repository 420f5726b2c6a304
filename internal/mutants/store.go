package mutants

import "slices"

const (
	memAct     = "outbox/memstore/act.go"
	memBacklog = "outbox/memstore/backlog.go"
	memClaim   = "outbox/memstore/claim.go"
	memPause   = "outbox/memstore/pause.go"
	memOversee = "outbox/memstore/oversee.go"
	memEnqueue = "outbox/memstore/enqueue.go"
	memFind    = "outbox/memstore/find.go"
	memLanes   = "outbox/memstore/lanes.go"
	memSettle  = "outbox/memstore/settle.go"
	memStore   = "outbox/memstore/store.go"
	storeTest  = "./outbox/memstore#TestStore/"
)

// Store breaks the reference store once for every case of storetest.
func Store() []Mutant {
	return slices.Concat(storeEnqueue, storeLanes, storeClaim, storeOrder, storeSettle, storeRecovery, storePause,
		storeAct, storeFind, storeBacklog, storeOversee)
}

var storeEnqueue = []Mutant{
	{"a rollback commits", memEnqueue, "tx)); err != nil {\n\t\treturn err", "tx)); err != nil {\n\t\trows, _ := tx.finish()\n\t\t_ = s.commit(rows)\n\t\treturn err", storeTest + "enqueue/stores_what_commits_and_nothing_that_rolls_back"},
	{"no transaction is no error", memEnqueue, "return outbox.ErrNoTransaction", "return nil", storeTest + "enqueue/refuses_a_context_without_a_transaction"},
	{"a finished transaction takes messages", memEnqueue, "return outbox.ErrTransactionDone", "return nil", storeTest + "enqueue/refuses_a_finished_transaction"},
	{"a refused message takes its neighbours along", memEnqueue, "if err != nil {\n\t\treturn err\n\t}\n\trows, err", "if err != nil {\n\t\t_, _ = tx.finish()\n\t\treturn err\n\t}\n\trows, err", storeTest + "enqueue/leaves_the_transaction_usable_after_a_refusal"},
	{"headers are lost", memClaim, "m := *r.Message", "m := *r.Message; m.Headers = nil", storeTest + "enqueue/gives_back_every_field_as_it_was"},
	{"a call is stored backwards", memEnqueue, "rows := make([]*row, len(messages))", "rows := make([]*row, len(messages)); slices.Reverse(messages)", storeTest + "enqueue/takes_any_number_of_messages_in_their_order"},
	{"an error of a joined function is forgotten", memEnqueue, "tx.broken = cmp.Or(tx.broken, err)", "", storeTest + "enqueue/rolls_back_as_a_whole_when_a_joined_function_fails"},
	{"a nested transaction is its own", memEnqueue, "if tx, ok := ctx.Value(txKey{s}).(*transaction); ok {", "if tx, ok := ctx.Value(txKey{s}).(*transaction); ok && false {", storeTest + "enqueue/joins_the_transaction_of_its_context"},
}

var storeLanes = []Mutant{
	{"the last lane is forgotten", memLanes, "for n, l := range s.lanes {\n\t\tif l.owner == id {", "for n, l := range s.lanes[:len(s.lanes)-1] {\n\t\tif l.owner == id {", storeTest + "lanes/go_to_the_only_session"},
	{"lanes move undrained", memLanes, "slices.Contains(r.Drained, n) && ", "", storeTest + "lanes/are_shared_fairly_after_being_drained"},
	{"lanes move under a claim", memLanes, " && !s.isClaimed(n)", "", storeTest + "lanes/stay_while_a_claim_names_a_message_of_them"},
	{"the epoch is not asked for", memClaim, " && own.epoch == l.Epoch", "", storeTest + "lanes/change_their_epoch_when_they_are_lost"},
	{"a session revives", memLanes, "case !ok, !own.alive(now):", "case !ok:", storeTest + "lanes/of_an_expired_session_are_taken_and_it_never_lives_again"},
	{"a renewal renews nothing", memLanes, "case expires.After(own.expires):\n\t\town.expires = expires", "case expires.After(own.expires):", storeTest + "lanes/are_kept_by_renewal_alone"},
	{"a release frees nothing", memLanes, "own.stopped = true\n\t}\n\ts.bury(id)", "own.stopped = true\n\t}", storeTest + "lanes/are_free_at_once_after_release"},
}

var storeClaim = []Mutant{
	{"a claimed message is claimed again", memClaim, "p.claimed = true", "p.claimed = false", storeTest + "claim/takes_a_message_once"},
	{"the limit is one too few", memClaim, "len(picked) == r.Limit", "len(picked) == r.Limit-1", storeTest + "claim/stops_at_its_limit_and_goes_on_from_there"},
	{"the first message has to fit", memClaim, "len(picked) > 0 && bytes > r.Bytes", "bytes > r.Bytes", storeTest + "claim/stops_at_its_bytes_but_always_takes_the_first"},
	{"a key has no bound", memClaim, "perKey[d.Key]++", "", storeTest + "claim/bounds_the_messages_of_one_key"},
	{"lanes are dry whatever was left out", memClaim, "len(picked) == len(due) && len(due) < r.Limit && ", "", storeTest + "claim/calls_its_lanes_dry_only_if_they_are"},
	{"lanes are dry behind a message that held its key", memClaim, "!slices.ContainsFunc(due, (*row).blocks)", "true", storeTest + "claim/calls_no_lane_dry"},
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

var storePause = []Mutant{
	{"a pause holds nothing", memClaim, "stays := paused(r) && !r.due.After(now)", "stays := paused(r) && r.due.After(now)", storeTest + "pause/holds_back_a_topic_a_key_or_everything"},
	{"a paused message does not hold its key", memClaim, "if stays {", "if stays && false {", storeTest + "pause/of_a_topic_holds_later_messages_of_the_same_keys"},
	{"a paused message ends the look at its lane", memClaim, "if stays {\n\t\t\tblocked[r.Key] = true\n\t\t}", "if stays {\n\t\t\tbreak\n\t\t}", storeTest + "pause/keeps_no_one_waiting_behind_many_paused_messages"},
	{"a pause covers ready messages alone", memPause, "p.Covers(r.Message) }", "r.state == ready && p.Covers(r.Message) }", storeTest + "pause/holds_what_waits_for_a_retry_and_what_is_scheduled"},
	{"a pause leaves suspects out", memPause, "p.Covers(r.Message) }", "r.state != suspect && p.Covers(r.Message) }", storeTest + "pause/leaves_suspects_alone"},
	{"a pause is an attempt", memPause, "\tdo(time.Now())\n", "\tdo(time.Now())\n\tfor _, r := range s.messages {\n\t\tr.attempts++\n\t}\n", storeTest + "pause/lets_open_claims_go_on_and_counts_no_attempt"},
	{"the end of one pause ends all", memPause, "return p.Scope == scope })\n\t\ts.wake(nil)", "return true })\n\t\ts.wake(nil)", storeTest + "pause/lasts_until_the_last_one_that_covers_a_message_ends"},
	{"pauses are not shown", memPause, "return slices.Clone(s.pauses), nil", "return nil, nil", storeTest + "pause/is_shown_with_who_paused_and_why"},
	{"a pause needs no reason", memPause, "cmp.Or(act.Check(), scope.Check())", "scope.Check()", storeTest + "pause/asks_who_acts_and_why_and_for_one_scope"},
	{"the end of a pause wakes nobody", memPause, "\t\ts.wake(nil)\n", "", storeTest + "pause/wakes_relays_when_it_ends"},
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

var storeAct = []Mutant{
	{"a requeued message goes to the end", memAct, "r.state, r.due = retrying, time.Now()", "s.lanes[r.lane].remove(r); s.seq++; r.seq = s.seq; s.lanes[r.lane].add(r); r.state, r.due = retrying, time.Now()", storeTest + "act/requeue_resumes_the_key_in_order"},
	{"a requeued message waits", memAct, "r.state, r.due = retrying, time.Now()", "r.state, r.due = retrying, time.Now().Add(time.Minute)", storeTest + "act/requeue_resumes_the_key_in_order"},
	{"skip lets nothing go on", memAct, "func(r *row) { r.state = skipped }", "func(*row) {}", storeTest + "act/skip_lets_the_key_go_on_in_order"},
	{"skip discards", memAct, "func(r *row) { r.state = skipped }", "func(r *row) { delete(s.messages, r.ID); s.lanes[r.lane].remove(r) }", storeTest + "act/skip_lets_the_key_go_on_in_order"},
	{"a discarded message holds its key", memAct, "s.lanes[r.lane].remove(r)", "", storeTest + "act/discard_lets_the_key_go_on_in_order"},
	{"discard skips", memAct, "delete(s.messages, r.ID)\n\t\ts.lanes[r.lane].remove(r)", "r.state = skipped", storeTest + "act/discard_lets_the_key_go_on_in_order"},
	{"a skipped message cannot be requeued", memAct, "\"requeue\", ids, isSetAside", "\"requeue\", ids, func(st state) bool { return st == parked }", storeTest + "act/requeue_takes_a_skipped_message_back_into_its_key"},
	{"a skipped message cannot be discarded", memAct, "\"discard\", ids, isSetAside", "\"discard\", ids, func(st state) bool { return st == parked }", storeTest + "act/discard_removes_a_skipped_message"},
	{"operators act on what is not parked", memAct, "if !ok || !allowed(r.state) {", "if !ok {", storeTest + "act/changes_nothing_that_is_not_parked"},
	{"nobody is asked who acts", memAct, "if err := act.Check(); err != nil {", "if err := act.Check(); err != nil && false {", storeTest + "act/asks_who_acts_and_why"},
	{"a reason may be of any length", "outbox/inspector.go", ", checkText(\"Reason\", a.Reason, MaxName))", ")", storeTest + "act/asks_who_acts_and_why"},
	{"a requeued message is as worn as before", memAct, "r.attempts, r.failures, r.crashes = 0, 0, 0", "", storeTest + "act/requeue_starts_counting_again"},
	{"requeue forgets what is uncertain", memAct, "r.attempts, r.failures, r.crashes = 0, 0, 0", "r.attempts, r.failures, r.crashes, r.uncertain = 0, 0, 0, false", storeTest + "act/requeue_starts_counting_again"},
	{"acts leave no trace", memAct, "s.record(act, deed, id, ", "_ = r; (&Store{}).record(act, deed, id, ", storeTest + "oversee/shows_what_was_done_the_latest_first"},
	{"acts wake nobody", memAct, "if len(lanes) > 0 {", "if len(lanes) > 0 && lanes[0] < 0 {", relayTest + "TestRelay_operator/a_skipped_message"},
}

var storeFind = []Mutant{
	{"what is in flight is pending", memFind, "case claimed:", "case claimed && false:", storeTest + "find/shows_where_each_message_stands"},
	{"what is held is pending", memFind, "case held:", "case held && false:", storeTest + "find/shows_where_each_message_stands"},
	{"held comes before parked", memFind, "case r.state == parked:", "case held:\n\t\treturn outbox.StatusHeld\n\tcase r.state == parked:", storeTest + "find/tells_the_first_status_that_fits"},
	{"retrying comes before in flight", memFind, "case claimed:", "case claimed && r.state != retrying:", storeTest + "find/tells_the_first_status_that_fits"},
	{"any status matches", memFind, "{string(f.Status), string(status)},", "", storeTest + "find/shows_where_each_message_stands"},
	{"any tenant matches", memFind, "{f.Tenant, r.Tenant},", "", storeTest + "find/matches_every_field_of_the_filter"},
	{"any error matches", memFind, "strings.Contains(r.err, f.Error) &&", "(strings.Contains(r.err, f.Error) || true) &&", storeTest + "find/matches_every_field_of_the_filter"},
	{"any age matches", memFind, "now.Add(-f.OlderThan)", "now", storeTest + "find/matches_every_field_of_the_filter"},
	{"an id is not asked for", memFind, "f.ID != uuid.Nil && f.ID != r.ID {", "f.ID != uuid.Nil && false {", storeTest + "find/shows_one_message_by_its_id"},
	{"payloads are always read", memFind, "if f.WithoutPayload {", "if false {", storeTest + "find/leaves_payloads_out_when_asked"},
	{"a payload that is left out has no size", memFind, "Size: len(m.Payload),", "Size: 0,", storeTest + "find/leaves_payloads_out_when_asked"},
	{"a wait is not shown", memFind, "record.DueIn = max(0, r.due.Sub(now))", "record.DueIn = 0", storeTest + "find/shows_the_message_and_what_became_of_it"},
	{"an unknown outcome is not shown", memSettle, "r.uncertain || o.Class == outbox.ClassUnknown", "r.uncertain", storeTest + "find/shows_the_message_and_what_became_of_it"},
	{"a page begins with the last message of the one before", memFind, "r.seq > after", "r.seq >= after", storeTest + "find/pages_by_number_while_messages_come_and_go"},
	{"pages come lane by lane", memFind, "return cmp.Compare(a.Number, b.Number)", "return cmp.Compare(a.Lane, b.Lane)", storeTest + "find/pages_by_number_while_messages_come_and_go"},
}

var storeBacklog = []Mutant{
	{"one topic's messages are counted as another's", memBacklog, "k := kind{r.Topic, status}", "k := kind{\"\", status}", storeTest + "backlog/counts_each_topic_and_status"},
	{"a backlog stays as old as it was", memBacklog, "max(counts[k].Oldest, r.age(now))", "1", storeTest + "backlog/grows_older_while_nobody_relays"},
	{"a scheduled message is as old as its enqueue", memBacklog, "since = r.AvailableAt", "_ = since", storeTest + "backlog/counts_a_scheduled_message_as_pending_once_it_is_due"},
	{"what the dead had claimed is in flight", memBacklog, "dead[s.messages[id]] = true", "_ = id", storeTest + "backlog/counts_what_a_dead_session_has_claimed_as_pending"},
	{"a backlog that is not known is none", memBacklog, "return outbox.Backlog{}, err", "return outbox.Backlog{}, nil", storeTest + "backlog/is_an_error_when_it_is_not_known"},
}

var storeOversee = []Mutant{
	{"a session is shown without its lanes", memOversee, "o.Lanes = append(o.Lanes, n)", "_ = n", storeTest + "oversee/shows_who_holds_which_lanes_and_how_much_is_in_flight"},
	{"every claim is everybody's", memOversee, "if c.session == id {", "if true {", storeTest + "oversee/shows_who_holds_which_lanes_and_how_much_is_in_flight"},
	{"the expired are out of sight", memOversee, "if !own.stopped || len(o.Lanes) > 0 || o.InFlight > 0 {", "if own.alive(now) {", storeTest + "oversee/shows_a_session_that_expired_until_somebody_recovers_it"},
	{"the recovered stay in sight", memOversee, "if !own.stopped || ", "if true || ", storeTest + "oversee/shows_a_session_that_expired_until_somebody_recovers_it"},
	{"each number in an error is a failure of its own", "outbox/failures.go", "digits.ReplaceAllString(g.Error, \"0\")", "g.Error", storeTest + "oversee/groups_what_fails_by_what_went_wrong"},
	{"the youngest is the example", "outbox/failures.go", "g.Oldest > m.Oldest", "g.Oldest < m.Oldest", storeTest + "oversee/groups_what_fails_by_what_went_wrong"},
	{"what was requeued still fails", memOversee, "r.attempts > 0 && ", "", storeTest + "oversee/takes_nothing_for_a_failure_that_was_not_handed_over"},
	{"what is under way fails", memOversee, "outbox.StatusSuspect: true,", "outbox.StatusSuspect: true, outbox.StatusInFlight: true, outbox.StatusPaused: true,", storeTest + "oversee/takes_nothing_for_a_failure_that_was_not_handed_over"},
	{"the first act comes first", memOversee, "slices.Backward(s.audit)", "slices.All(s.audit)", storeTest + "oversee/shows_what_was_done_the_latest_first"},
	{"acts on all messages are shown for one", memOversee, "message == uuid.Nil || message == e.Message", "true", storeTest + "oversee/shows_what_was_done_the_latest_first"},
}
