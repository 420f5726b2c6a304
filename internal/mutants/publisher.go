package mutants

const (
	reference     = "outbox/publishertest/reference_test.go"
	referenceTest = "./outbox/publishertest#TestReference/"
)

// Publisher breaks a reference publisher once for every case of publishertest, and what only a broker itself can show.
func Publisher() []Mutant {
	return []Mutant{
		{"an acceptance is a lie", reference, "r.log[m.Topic] = append(log, received)", "_ = append(log, received)", referenceTest + "answers_for_each_message_in_the_order_given"},
		{"an empty call has a result", reference, "results := make([]outbox.Result, len(messages))", "results := make([]outbox.Result, max(1, len(messages)))", referenceTest + "takes_an_empty_call"},
		{"the id is not sent", reference, "range outbox.WireHeaders(m) {", "range outbox.WireHeaders(m)[1:] {", referenceTest + "sends_bytes_id_and_headers_as_they_are"},
		{"a tombstone becomes empty", reference, "Payload: slices.Clone(m.Payload)", "Payload: append([]byte{}, m.Payload...)", referenceTest + "sends_bytes_id_and_headers_as_they_are"},
		{"a message is changed", reference, "received := publishertest", "m.Headers = nil; received := publishertest", referenceTest + "leaves_its_messages_alone"},
		{"a key is sent backwards", reference, "r.log[m.Topic] = append(log, received)", "r.log[m.Topic] = append([]publishertest.Received{received}, log...)", referenceTest + "keeps_a_key_in_order"},
		{"a poison message stops everything", reference, "failed[key] = m.Key != \"\"", "return results", referenceTest + "refuses_a_poison_message_alone"},
		{"a poison message is the transport's fault", reference, "outbox.Permanent(errTooLarge)", "outbox.Unavailable(errTooLarge)", referenceTest + "refuses_a_poison_message_alone"},
		{"a key goes on behind its failure", reference, "failed[key] = m.Key != \"\"", "failed[key] = false", referenceTest + "stops_a_key_at_its_first_failure_if_it_says_so"},
		{"a missing topic is permanent", reference, "outbox.RetryAfter(1, errNoTopic)", "outbox.Permanent(errNoTopic)", referenceTest + "fails_a_missing_destination_alone_and_not_for_good"},
		{"a call side by side is sent twice", reference, "r.log[m.Topic] = append(log, received)", "r.log[m.Topic] = append(log, received, received)", referenceTest + "serves_calls_side_by_side"},
		{"a channel that refused is used again", "amqp/transmit.go", "case t.nacked:", "case t.nacked && false:", "./amqp#TestPublish/uses_no_channel_again_that_has_refused_a_message"},
		{"a returned message is delivered", "amqp/transmit.go", "case unroutable:", "case unroutable && false:", "./amqp#TestPublish/reports_each_of_2000_unroutable_messages"},
		{"a nack is a failure of the message", "amqp/transmit.go", "outbox.RetryAfter(nackPause, errNack)", "errNack", "./amqp#TestPublish/takes_a_queue_that_is_full_for_a_refusal_that_passes"},
		{"an extension replaces an attribute", "cloudevents/attributes.go", "|| slices.ContainsFunc(as, taken)", "|| slices.ContainsFunc(as[:1], taken)", "./cloudevents#TestEncode/binary_adds_attributes_and_leaves_the_payload"},
		{"an ended context stops nothing", reference, "ctx.Err() != nil || failed[key]", "failed[key]", referenceTest + "hands_over_nothing_once_its_context_has_ended"},
	}
}
