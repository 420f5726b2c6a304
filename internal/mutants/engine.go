package mutants

const (
	relayTest  = "./outbox#"
	simulation = relayTest + "TestSimulation"
)

// Engine breaks the relay.
func Engine() []Mutant {
	return []Mutant{
		{"a key's messages go out together", "outbox/order.go", "wave[i]++", "_ = i", relayTest + "TestRelay_order/hands_one_message_of_a_key_at_a_time"},
		{"a changed topic is no cut", "outbox/order.go", "!keyOrdered || !sameDestination(claimed[j], c)", "!keyOrdered", relayTest + "TestRelay_order/cuts_a_claim_where_a_key_changes_its_topic"},
		{"a failed message does not stop its key", "outbox/publish.go", "failed[key] = true", "failed[key] = false", simulation},
		{"what was never handed over is delivered", "outbox/outcome.go", "return o // never handed over: Release", "o.Verdict = Delivered; return o", simulation},
		{"an outage is a failure", "outbox/outcome.go", "o.Verdict, o.RetryIn = Defer, p.backoff(c.Attempts+1, maxUnavailableBackoff, jitter)", "o.Verdict, o.RetryIn = ParkKey, 0", relayTest + "TestRelay/parks_nothing_in_a_long_outage"},
		{"the breaker never opens", "outbox/breaker.go", "case b.failed == 0:", "case true:", relayTest + "TestRelay/parks_nothing_in_a_long_outage"},
		{"a stop frees no lanes", "outbox/relay.go", "t.release(hard)", "_ = hard", relayTest + "TestRelay_several/a_stop_in_the_middle"},
		{"a commit wakes nobody", "outbox/relay.go", "d.news.ring()", "_ = lanes", relayTest + "TestRelay/takes_a_single_message_at_once"},
		{"a late claim is published", "outbox/publish.go", "if w.fresh(g) {", "if true {", relayTest + "TestRelay_lease/T1_"},
		{"a lease lives from its answer", "outbox/tenure.go", "t.held, t.since = lanes.Held, before", "t.held, t.since = lanes.Held, time.Now(); _ = before", relayTest + "TestRelay_lease/T8_"},
		{"a late renewal revives", "outbox/tenure.go", "if time.Since(t.since) < t.config.Lease {", "if true {", relayTest + "TestRelay_timing/T3_"},
		{"nobody renews", "outbox/tenure.go", "renewer, ok := t.store.(LaneRenewer)\n\tif !ok {", "renewer, ok := t.store.(LaneRenewer)\n\tif ok {", relayTest + "TestRelay_lease/T4_"},
		{"a lost claim ends the relay", "outbox/worker.go", "case isClaimLost(err):", "case false:", relayTest + "TestRelay_lease/T5_"},
		{"a failed claim is forgotten", "outbox/worker.go", "return Claim{}, w.void(ctx, r)", "return Claim{}, nil", relayTest + "TestRelay_lease/T12_"},
		{"MaxPublishDuration is not measured", "outbox/publish.go", "took > longest", "took < 0", relayTest + "TestRelay_lease/a_publish_beyond"},
		{"exhaustion is ignored", "outbox/outcome.go", "if c.Failures+1 >= p.MaxAttempts {", "if false {", relayTest + "TestRelay/parks_a_message_for_good_after_its_last_attempt"},
	}
}
