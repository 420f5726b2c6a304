package mutants

const (
	contract = relayTest + "TestRelay_contract/"
	timing   = relayTest + "TestRelay_timing/"
	sqlStore = "./gormstore#TestStore/postgres/"
	sqlRace  = "./gormstore#TestRace/"

	sqlAcquire = "gormstore/acquire.go"
	sqlClaim   = "gormstore/postgres_claim.go"
	sqlRead    = "gormstore/postgres_read.go"
	sqlLanes   = "gormstore/postgres_lanes.go"
	sqlSettle  = "gormstore/postgres_settle.go"
)

// Rules breaks each rule of docs/protocol.md in the code that keeps it. Some of the tests need PostgreSQL.
func Rules() []Mutant {
	return []Mutant{
		{"rule 1: a restart resumes its old session", "outbox/tenure.go", "session := uuid.New()", "session := uuid.NewSHA1(uuid.Nil, []byte(config.ID))", timing + "a_restart_under_the_same_label"},
		{"rule 2: a worker claims under the same token again", "outbox/worker.go", "Token: uuid.New()", "Token: uuid.NewSHA1(w.session, []byte{byte(w.number)})", contract + "every_claim_has_a_token_of_its_own"},
		{"rule 3: a claim does not lock its lanes", sqlClaim, "FOR SHARE OF l", "", sqlRace + "a_slow_claim_is_recovered_by_the_takeover_that_waits_for_it"},
		{"rule 3: a claim does not compare epochs", sqlClaim, "AND l.epoch = w.epoch", "", sqlRace + "a_claim_that_waited_while_its_lanes_went_and_came_back_gets_nothing"},
		{"rule 4: a lost lane keeps its epoch", memLanes, "s.lanes[n].epoch++", "", storeTest + "lanes/change_their_epoch_when_they_are_lost"},
		{"rule 5: recovery deletes claims before it frees lanes", sqlAcquire, freeThenFold, foldThenFree, sqlRace + "a_slow_claim_is_recovered_by_the_takeover_that_waits_for_it"},
		{"rule 6: settle looks for the token and writes later", sqlSettle, "WHERE EXISTS (SELECT FROM c) AND m.id = f.id", "WHERE EXISTS (SELECT FROM {claims} WHERE token = $1) AND m.id = f.id", sqlRace + "a_settle_that_waited_behind_a_takeover_changes_nothing"},
		{"rule 7: a settle without an answer is given up", "outbox/worker.go", "}, isClaimLost, func", "}, func(error) bool { return true }, func", contract + "a_settle_without_an_answer_is_repeated_until_it_has_one"},
		{"rule 8: voiding raises no epoch", "gormstore/claim.go", "if err := s.dialect.raiseEpochs(ctx, q, r.Session, lanes); err != nil {\n\t\t\treturn err\n\t\t}", "_ = lanes", "./gormstore#TestVoid/keeps_a_claim_from_being_made_later"},
		{"rule 9: a lane with a claim is given back", sqlLanes, "WHERE c.session = $1)\nRETURNING", "WHERE c.session = $1 AND false)\nRETURNING", sqlStore + "lanes/stay_while_a_claim_names_a_message_of_them"},
		{"rule 10: lanes are released when the stop begins", "outbox/relay.go", "err := d.run(work)", "context.AfterFunc(ctx, func() { t.release(hard) })\n\terr := d.run(work)", relayTest + "TestRelay_stop/waits_for_every_worker_and_releases_once"},
		{"rule 10: lanes are released past the deadline", "outbox/relay.go", "if hard.Err() != nil {\n\t\treturn errStop\n\t}\n\tt.release(hard)", "t.release(hard)", relayTest + "TestRelay_stop/releases_nothing_past_its_deadline"},
		{"rule 11: a send that may have happened is released", "outbox/outcome.go", "o.Class = ClassOf(o.Err)", "if o.Class = ClassOf(o.Err); o.Class == ClassUnknown {\n\t\treturn o\n\t}", relayTest + "TestRelay_outcomes/an_unknown_outcome_is_an_attempt_and_no_failure"},
		{"rule 12: an unknown outcome is a delivery", "outbox/outcome.go", "case r.Accepted():", "case r.Accepted() || ClassOf(o.Err) == ClassUnknown:", relayTest + "TestRelay/parks_nothing_in_a_long_outage/unknown"},
		{"rule 13: a claim does not look at earlier messages of the key", memClaim, "held := r.Key != \"\" && blocked[r.Key]", "held := false && blocked[r.Key]", storeTest + "order/holds_a_key_behind_a_message_that_waits"},
		{"rule 13: suspects do not hold their key", sqlSettle, "m.state IN (2, 3, 4)", "m.state IN (2, 3)", sqlStore + "recovery/keeps_the_order_of_a_key_through_suspicion"},
		{"rule 14: only a failure holds a key", memClaim, "if r.state.blocks() || r.claimed {", "if r.failures > 0 || r.claimed {", storeTest + "order/holds_a_key_behind_a_deferred_message"},
		{"rule 15: no waves", "outbox/order.go", "if mode == Pipelined {", "if mode == Pipelined || !keyOrdered {", relayTest + "TestRelay_order/hands_one_message_of_a_key_at_a_time"},
		{"rule 16: a cursor never goes back for a late commit", sqlRead, "least(w.start, late.low + 1)", "w.start", "./gormstore#TestLateCommit/comes_before_a_later_message_of_its_key"},
		{"rule 16: a claim reads on where it was although an operator acted", sqlRead, "CASE WHEN l.nudge = w.nudge THEN least(w.start, late.low + 1) ELSE 0 END", "least(w.start, late.low + 1)", "./gormstore#TestClaim/finds_what_another_process_unblocked_by_its_nudge"},
		{"rule 16: a claim is recorded although an operator acted since it read", sqlClaim, "AND l.nudge = w.nudge", "", "./gormstore#TestActRace/a_claim_that_waited_for_it_reads_what_it_unblocked/skip"},
		{"rule 17: numbers are handed out in packets", "gormstore/migrations/postgres/00001_outbox.sql", "IDENTITY (CACHE 1)", "IDENTITY (CACHE 50)", "./gormstore#TestChaos"},
		{"rule 18: a requeued message is merely ready", "outbox/memstore/act.go", "r.state, r.due = retrying, time.Now()", "r.state, r.due = ready, time.Now()", storeTest + "act/requeue_holds_the_key_against_suspects"},
		{"rule 19: every message of a crash is to blame", sqlLanes, "(cardinality(ids) = 1)::integer", "1", sqlStore + "recovery/turns_a_dead_sessions_claim_into_suspects"},
		{"rule 20: a bound skips", memClaim, "len(picked) > 0 && bytes > r.Bytes {\n\t\t\tbreak", "len(picked) > 0 && bytes > r.Bytes {\n\t\t\tbytes -= len(d.Payload)\n\t\t\tcontinue", storeTest + "claim/stops_at_its_bytes_but_always_takes_the_first"},
		{"rule 21: the age of a lease is not looked at", "outbox/worker.go", "time.Since(since) < longest", "(longest > 0 || time.Since(since) < longest)", relayTest + "TestRelay_lease/T8_"},
		{"rule 22: a heartbeat revives a session", sqlLanes, "WHERE id = $1 AND stopped_at IS NULL AND expires_at > clock_timestamp()", "WHERE id = $1 AND stopped_at IS NULL", sqlStore + "lanes/are_kept_by_renewal_alone"},
		{"rule 23: settling asks for a fresh lease", memSettle, "if !ok {", "if !ok || !s.sessions[own.session].alive(time.Now()) {", timing + "T7_"},
		{"rule 24: fewer messages than asked is a lost claim", "outbox/worker.go", "w.now.Settling, w.now.Outcomes,", "if err == nil && changed < written(outcomes) {\n\t\terr = ErrClaimLost\n\t}\n\tw.now.Settling, w.now.Outcomes,", relayTest + "TestRelay_outcomes/what_an_operator_took_away_is_no_lost_claim"},
		{"rule 25: uncertainty is forgotten", sqlSettle, "uncertain = m.uncertain OR f.uncertain", "uncertain = f.uncertain", "./gormstore#TestSettle/keeps_what_is_uncertain_so"},
	}
}

const (
	freeThenFold = `	if err := s.dialect.freeLanes(ctx, q, sessions); err != nil {
		return fmt.Errorf("free lanes: %w", err)
	}
	keys, err := s.dialect.fold(ctx, q, sessions)
	if err != nil {
		return fmt.Errorf("recover claims: %w", err)
	}
`
	foldThenFree = `	keys, err := s.dialect.fold(ctx, q, sessions)
	if err != nil {
		return fmt.Errorf("recover claims: %w", err)
	}
	if err := s.dialect.freeLanes(ctx, q, sessions); err != nil {
		return fmt.Errorf("free lanes: %w", err)
	}
`
)
