package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/outbox"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	const sent, kept = true, false
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name  string
		err   error
		sent  bool
		about scope
		class outbox.Class
	}{
		{"too_large_is_permanent", kerr.MessageTooLarge, sent, aboutMessage, outbox.ClassPermanent},
		{"too_large_with_sizes_is_permanent", fmt.Errorf("%w (compressed_bytes=9)", kerr.MessageTooLarge), sent, aboutMessage, outbox.ClassPermanent},
		{"an_invalid_record_is_permanent", kerr.InvalidRecord, sent, aboutMessage, outbox.ClassPermanent},
		{"a_policy_violation_is_permanent", kerr.PolicyViolation, sent, aboutMessage, outbox.ClassPermanent},
		{"damage_on_the_way_is_tried_again", kerr.CorruptMessage, sent, aboutMessage, outbox.ClassRefused},
		{"a_refusal_without_a_reason_is_counted", kerr.UnknownServerError, sent, aboutMessage, outbox.ClassRefused},

		{"a_missing_topic_waits", kerr.UnknownTopicOrPartition, kept, aboutTopic, outbox.ClassRetryAfter},
		{
			"a_missing_topic_waits_also_when_time_ran_out",
			fmt.Errorf("%w, last err: %w", kgo.ErrRecordTimeout, kerr.UnknownTopicOrPartition),
			kept, aboutTopic, outbox.ClassRetryAfter,
		},
		{"a_recreated_topic_waits", kerr.UnknownTopicID, sent, aboutTopic, outbox.ClassRetryAfter},
		{"a_forbidden_topic_waits", kerr.TopicAuthorizationFailed, sent, aboutTopic, outbox.ClassRetryAfter},
		{"a_wrong_clock_waits", kerr.InvalidTimestamp, sent, aboutTopic, outbox.ClassRetryAfter},
		{"an_impossible_topic_is_permanent", kerr.InvalidTopicException, kept, aboutTopic, outbox.ClassPermanent},

		{"no_right_to_publish_is_unavailable", kerr.ClusterAuthorizationFailed, kept, aboutBroker, outbox.ClassUnavailable},
		{"a_lost_sequence_is_unknown", kerr.OutOfOrderSequenceNumber, sent, aboutBroker, outbox.ClassUnknown},
		{"a_replica_that_did_not_answer_is_unknown", kerr.RequestTimedOut, sent, aboutBroker, outbox.ClassUnknown},
		{"a_leader_that_moved_before_anything_was_sent_is_unavailable", kerr.NotLeaderForPartition, kept, aboutBroker, outbox.ClassUnavailable},
		{"a_time_out_after_sending_is_unknown", kgo.ErrRecordTimeout, sent, aboutBroker, outbox.ClassUnknown},
		{"a_time_out_before_sending_is_unavailable", kgo.ErrRecordTimeout, kept, aboutBroker, outbox.ClassUnavailable},
		{"a_lost_connection_is_unknown", io.EOF, sent, aboutBroker, outbox.ClassUnknown},
		{"no_connection_is_unavailable", refused, kept, aboutBroker, outbox.ClassUnavailable},
		{"a_client_closed_while_sending_is_unknown", kgo.ErrClientClosed, sent, aboutBroker, outbox.ClassUnknown},
		{"no_answer_is_unknown", errNoAnswer, sent, aboutBroker, outbox.ClassUnknown},
		{"an_ended_context_is_unknown_after_sending", context.Canceled, sent, aboutBroker, outbox.ClassUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := classify(c.err, c.sent)
			if got := outbox.ClassOf(v.err); v.about != c.about || got != c.class {
				t.Errorf("classify(%v, sent %v) = scope %d, class %s; want scope %d, class %s",
					c.err, c.sent, v.about, got, c.about, c.class)
			}
			if !errors.Is(v.err, c.err) {
				t.Errorf("%v hides %v", v.err, c.err)
			}
		})
	}

	t.Run("success_is_accepted", func(t *testing.T) {
		t.Parallel()
		if v := classify(nil, sent); v != (verdict{}) {
			t.Errorf("classify(nil) = %+v", v)
		}
	})
}
