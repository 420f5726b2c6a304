package mutants

import "slices"

const (
	relayTest  = "./outbox#"
	simulation = relayTest + "TestSimulation"
)

var engineBreaker = []Mutant{
	{"the breaker never opens", "outbox/breaker.go", "case len(b.failed) == 0, b.several:", "case true:", relayTest + "TestRelay_backoff/of_an_outage"},
	{"a broker that is down holds up the others", "outbox/breaker.go", "b.several = n > 1", "_ = n", relayTest + "TestRelay_breaker/lets_one_transport_go_on"},
	{"a transport that nobody serves is down", "outbox/breaker.go", "if served || b.brokers == nil {", "if served || true {", relayTest + "TestRelay_breaker/lets_messages_pass"},
	{"a publisher that was not asked is down", "outbox/worker.go", "if len(w.now.Calls) > 0 {", "if true {", relayTest + "TestRelay_breaker/stays_closed"},
}

// Engine breaks the relay.
func Engine() []Mutant {
	return slices.Concat(engineBreaker, looks, []Mutant{
		{"a key's messages go out together", "outbox/order.go", "wave[i]++", "_ = i", relayTest + "TestRelay_order/hands_one_message_of_a_key_at_a_time"},
		{"a changed topic is no cut", "outbox/order.go", "!keyOrdered || !sameDestination(claimed[j], c)", "!keyOrdered", relayTest + "TestRelay_order/cuts_a_claim_where_a_key_changes_its_topic"},
		{"a failed message does not stop its key", "outbox/publish.go", "failed[key] = true", "failed[key] = false", simulation},
		{"what was never handed over is delivered", "outbox/outcome.go", "return o // never handed over: Release", "o.Verdict = Delivered; return o", simulation},
		{"an outage is a failure", "outbox/outcome.go", "o.Verdict, o.RetryIn = Defer, p.backoff(c.Attempts+1, maxUnavailableBackoff, jitter)", "o.Verdict, o.RetryIn = ParkKey, 0", relayTest + "TestRelay/parks_nothing_in_a_long_outage"},
		{"a claim without an answer is told of twice", "outbox/worker.go", "if w.failed == 0 {", "if true {", relayTest + "TestRelay_observer/is_told_of_a_claim_without"},
		{"a stop frees no lanes", "outbox/relay.go", "t.release(hard)", "_ = hard", relayTest + "TestRelay_several/a_stop_in_the_middle"},
		{"a commit wakes nobody", "outbox/relay.go", "d.tell(lanes)", "_ = lanes", relayTest + "TestRelay/takes_a_single_message_at_once"},
		{"a late claim is published", "outbox/publish.go", "if w.fresh(g.since) {", "if true {", relayTest + "TestRelay_lease/T1_"},
		{"a claim is published to its end whatever became of the lease", "outbox/publish.go", " && w.fresh(w.renewed())", "", relayTest + "TestRelay_timing/a_claim_of_many_waves"},
		{"MaxPublishDuration binds where it is not needed", "outbox/relay.go", "config.MaxPublishDuration = 0", "_ = ok", relayTest + "TestRelay_lease/MaxPublishDuration_does_not_bind"},
		{"sessions that end follow one another at once", "outbox/relay.go", "backoff(short, storeBackoff, maxStoreBackoff, jitter)", "backoff(short, storeBackoff, storeBackoff, jitter)", relayTest + "TestRelay_backoff/of_sessions_that_end_at_once"},
		{"waits do not vary at their bound", "outbox/policy.go", "d = max(low, min(d, top-top/5))", "", relayTest + "TestRelay_backoff/varies_at_its_bound"},
		{"a lease lives from its answer", "outbox/tenure.go", "t.held, t.since = lanes, since", "t.held, t.since = lanes, time.Now()", relayTest + "TestRelay_lease/T8_"},
		{"a late renewal revives", "outbox/tenure.go", "if time.Since(t.since) < t.config.Lease {", "if true {", relayTest + "TestRelay_timing/T3_"},
		{"a stop settles under a context that has ended", "outbox/worker.go", "err := persist(w.hard, w.jitter, func(hard context.Context) (err error) {", "err := persist(w.hard, w.jitter, func(hard context.Context) (err error) {\n\t\thard, end := context.WithCancel(hard)\n\t\tend()", relayTest + "TestRelay_stop/settles_under_the_deadline"},
		{"a release that fails fails the stop", "outbox/relay.go", "if err != nil && errors.Is(err, context.Cause(ctx)) {", "if false {", relayTest + "TestRelay_stop/takes_a_release_that_fails"},
		{"a fault keeps the lanes", "outbox/relay.go", "t.release(hard)\n\tif err", "if ctx.Err() != nil {\n\t\tt.release(hard)\n\t}\n\tif err", relayTest + "TestRelay_stop/releases_also_after_a_fault"},
		{"a release is waited for without end", "outbox/relay.go", "case <-hard.Done():\n\t\treturn errStop", "case <-context.Background().Done():\n\t\treturn errStop", relayTest + "TestRelay_stop/leaves_a_release_behind"},
		{"waits do not grow", "outbox/policy.go", "d *= 2", "_ = d", relayTest + "TestRelay_backoff/doubles"},
		{"waits do not vary", "outbox/policy.go", "jitter.Int64N(int64(d)/4 + 1)", "jitter.Int64N(1)", relayTest + "TestRelay_backoff/is_repeatable"},
		{"a commit cuts the wait for the broker short", "outbox/relay.go", "b, jitter := newBreaker(r.publisher, newJitter(r.config.ID, -3)), newJitter(r.config.ID, -4)", "b, jitter := newBreaker(r.publisher, newJitter(r.config.ID, -3)), newJitter(r.config.ID, -4)\n\tgo func() {\n\t\tfor ctx.Err() == nil && sleep(ctx, 10*time.Millisecond, nil) {\n\t\t\tb.mu.Lock()\n\t\t\tb.until = time.Time{}\n\t\t\tb.mu.Unlock()\n\t\t\tb.change.ring()\n\t\t}\n\t}()", relayTest + "TestRelay_backoff/of_an_outage"},
		{"a failing store is asked at once", "outbox/tenure.go", "failed++", "_ = failed", relayTest + "TestRelay_backoff/of_a_failing_store"},
		{"the log shows the key", "outbox/worker.go", "\"topic\", o.Topic", "\"topic\", o.Topic, \"key\", o.Key", relayTest + "TestRelay_logs/name_a_message"},
		{"a relay without lanes asks", "outbox/worker.go", "if ctx.Err() != nil || len(g.lanes) == 0 {", "if ctx.Err() != nil {", relayTest + "TestRelay_idle/asks_nothing_without_a_lane"},
		{"an idle relay polls too seldom", "outbox/pacer.go", "backoff(p.empty, p.top/20, p.top, p.jitter)", "4 * p.top", relayTest + "TestRelay_idle/polls_where_nobody_tells"},
		{"a store may claim what it likes", "outbox/worker.go", "if len(c.Messages) > r.Limit || r.Suspect && len(c.Messages) > 1 {", "if false {", relayTest + "TestRelay_contract/a_store_that_claims_more_messages"},
		{"a store may claim as many bytes as it likes", "outbox/worker.go", "if i > 0 && bytes > r.Bytes {", "if i > 0 && bytes > r.Bytes && r.Limit == 0 {", relayTest + "TestRelay_contract/a_store_that_claims_more_bytes"},
		{"a publisher may answer as it likes", "outbox/publish.go", "if len(results) != len(messages) {", "if false {", relayTest + "TestRelay_contract/a_publisher_that_answers"},
		{"a lost claim is a delivery", "outbox/snapshot.go", "s.count(o, e.Err == nil)", "s.count(o, true)", relayTest + "TestRelay_outcomes/what_a_broker_took"},
		{"a batch has no upper bound", "outbox/config.go", "{\"Batch\", c.Batch, 1, 10_000}", "{\"Batch\", c.Batch, 1, 10_001}", relayTest + "TestNewRelay_bounds/of_Batch_most"},
		{"rounds stand still while messages are out", "outbox/tenure.go", "before := time.Now()\n\tctx, cancel := context.WithTimeout(ctx, t.config.Lease)\n\tdefer cancel()\n\tlanes, err", "for t.gauge.read().InFlight > 0 {\n\t\tsleep(ctx, time.Second, nil)\n\t}\n\tbefore := time.Now()\n\tctx, cancel := context.WithTimeout(ctx, t.config.Lease)\n\tdefer cancel()\n\tlanes, err", relayTest + "TestRelay_timing/rounds_of_rebalancing"},
		{"rounds come as seldom as polls", "outbox/tenure.go", "next := t.config.Renew\n", "next := max(t.config.Renew, t.config.Poll)\n", relayTest + "TestRelay_timing/a_long_poll"},
		{"a round leaves no time to publish", "outbox/worker.go", "longest -= w.config.MaxPublishDuration + w.config.Renew", "longest -= w.config.MaxPublishDuration", relayTest + "TestRelay_timing/T11_"},
		{"a store that cannot renew is trusted", "outbox/worker.go", "if _, ok := w.store.(LaneRenewer); !ok {", "if false {", relayTest + "TestRelay_timing/T2_"},
		{"nobody renews", "outbox/tenure.go", "renewer, ok := t.store.(LaneRenewer)\n\tif !ok {", "renewer, ok := t.store.(LaneRenewer)\n\tif ok {", relayTest + "TestRelay_lease/T4_"},
		{"a lost claim ends the relay", "outbox/worker.go", "case isClaimLost(err):", "case false:", relayTest + "TestRelay_lease/T5_"},
		{"a failed claim is forgotten", "outbox/worker.go", "err := w.void(ctx, r)\n\t\tsleep", "var err error\n\t\tsleep", relayTest + "TestRelay_lease/T12_"},
		{"MaxPublishDuration is not measured", "outbox/publish.go", "took > longest", "took < 0", relayTest + "TestRelay_lease/a_publish_beyond"},
		{"a cycle is told of before it is settled", "outbox/worker.go", "err = w.settle(claim, outcomes)\n\tw.report(began)", "w.report(began)\n\terr = w.settle(claim, outcomes)", relayTest + "TestRelay_observer/is_told_of_claim"},
		{"calls of Publish are not told of", "outbox/publish.go", "w.now.Calls = append(w.now.Calls, Call{len(messages), took})", "_ = took", relayTest + "TestRelay_observer/is_told_of_claim"},
		{"news is as old as the latest", "outbox/tenure.go", "if t.heard.IsZero() {\n\t\tt.heard = time.Now()\n\t}", "t.heard = time.Now()", relayTest + "TestRelay_observer/counts_news_from_the_first"},
		{"news is never heard", "outbox/relay.go", "d.hear()", "", relayTest + "TestRelay_observer/is_told_of_claim"},
		{"a claim without an answer is not told of", "outbox/worker.go", "w.now.Err = err\n\t\tw.report(sent)", "", relayTest + "TestRelay_observer/is_told_of_a_claim_without"},
		{"the breaker is not told of", "outbox/worker.go", "case opened:\n\t\ttell", "case opened && false:\n\t\ttell", relayTest + "TestRelay_observer/is_told_that_the_broker"},
		{"lost lanes are not told of", "outbox/relay.go", "isSessionEnded(err) && lost > 0", "isSessionEnded(err) && lost < 0", relayTest + "TestRelay_observer/is_told_of_lanes"},
		{"an observer that panics is called again", "outbox/observer.go", "o.broken.Store(true)", "", relayTest + "TestRelay_observer_harms_nothing/one_that_panics"},
		{"an observer's panic ends the process", "outbox/observer.go", "defer o.guard()", "", relayTest + "TestRelay_observer_harms_nothing/one_that_panics"},
		{"an observer is called under the gauge", "outbox/worker.go", "tell(w.observer, w.observer.Cycle, w.now)", "w.gauge.update(func(*Snapshot) { tell(w.observer, w.observer.Cycle, w.now) })", relayTest + "TestRelay_observer_harms_nothing/one_that_asks"},
		{"a settle that failed is a delivery", "outbox/snapshot.go", "case o.Verdict == Delivered && stored:", "case o.Verdict == Delivered:", relayTest + "TestRelay_uncertain/a_settle_that_a_stop"},
		{"a repeated settle is a lost claim", "outbox/snapshot.go", "isClaimLost(e.Err) && e.Tries == 1", "isClaimLost(e.Err)", relayTest + "TestRelay_uncertain/a_settle_whose_answer"},
		{"a settle that fails does not show", "outbox/worker.go", "s.StoreDown = true", "_ = s", relayTest + "TestRelay_uncertain/a_settle_that_a_stop"},
		{"rounds that fail do not show", "outbox/tenure.go", "t.gauge.acquired(nil, err)", "", relayTest + "TestRelay_Snapshot/rounds_that_fail"},
		{"exhaustion is ignored", "outbox/outcome.go", "if c.Failures+1 >= p.MaxAttempts {", "if false {", relayTest + "TestRelay/parks_a_message_for_good_after_its_last_attempt"},
	})
}

// looks breaks what decides when, and into which lanes, a relay looks.
var looks = []Mutant{
	{"an idle relay asks for each worker", "outbox/dispatch.go", "n, more, err = w.cycle(ctx, g)", "for _, other := range d.workers[1:] {\n\t\t_, _, _ = other.cycle(ctx, g)\n\t}\n\tn, more, err = w.cycle(ctx, g)", relayTest + "TestRelay_idle/asks_once_a_poll"},
	{"news of a lane is looked for everywhere", "outbox/dispatch.go", "told == nil || p.due()", "len(told) > 0 || told == nil || p.due()", relayTest + "TestRelay_news/of_a_lane_is_looked_for_there_only"},
	{"news holds off the polls", "outbox/dispatch.go", "case more:\n\t\tp.soon()", "default:\n\t\tp.missed()", relayTest + "TestRelay_steady_news/do_not_hide_a_commit"},
	{"a stream is looked for everywhere", "outbox/worker.go", "mayHaveMore(claim, outcomes) || w.untold(g, claim)", "true", relayTest + "TestRelay_steady_stream/that_is_told_of"},
	{"a stream that nobody tells of waits for the poll", "outbox/worker.go", "mayHaveMore(claim, outcomes) || w.untold(g, claim)", "mayHaveMore(claim, outcomes)", relayTest + "TestRelay_steady_stream/that_nobody_tells_of"},
	{"news that comes after its commit is none", "outbox/worker.go", " && !w.news.names(m.Lane)", "", relayTest + "TestRelay_steady_stream/that_is_told_of"},
	{"a spread ends when nobody has anything to do", "outbox/dispatch.go", "n <= few && !more", "n < 0 && n <= few && !more", relayTest + "TestRelay_spread/ends_when"},
	{"workers are woken for the lanes of others", "outbox/dispatch.go", "g = g.only(told)", "if len(told) == 0 {\n\t\t\tg.lanes = nil\n\t\t}", relayTest + "TestRelay_spread/leaves_the_lanes"},
	{"later news replaces earlier", "outbox/news.go", "n.lanes = slices.Concat(n.lanes, lanes)", "n.lanes = slices.Clone(lanes)", relayTest + "TestRelay_news/that_comes_while_a_claim_is_out"},
	{"what a bound left behind waits for the poll", "outbox/worker.go", "return !c.Dry || c.Suspects ||", "return c.Suspects ||", relayTest + "TestRelay_news_goes_on/past_the_bound_of_a_key"},
	{"what a skipped message held waits for the poll", "outbox/worker.go", "slices.ContainsFunc(outcomes, undelivered)", "slices.ContainsFunc(outcomes[:0], undelivered)", relayTest + "TestRelay_news_goes_on/behind_a_message_that_was_skipped"},
	{"suspects wait while there are news", "outbox/worker.go", "return !c.Dry || c.Suspects ||", "return !c.Dry ||", relayTest + "TestRelay_news/of_which_suspects_are_seen"},
	{"suspects that are gone end the look", "outbox/worker.go", "(suspect || claim.Suspects)", "!suspect && claim.Suspects", relayTest + "TestRelay_news/of_which_suspects_are_seen"},
}
