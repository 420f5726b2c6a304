package kafka

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/postroom/postroom/outbox"
)

// scope is what an answer is about, and so what else must not be sent after it in the same call.
type scope int

const (
	aboutNothing scope = iota // accepted
	aboutMessage              // one record of the batch: look for it
	aboutTopic                // every record of the topic
	aboutBroker               // every record
)

// verdict is an answer with the meaning that the relay reads.
type verdict struct {
	about scope
	err   error // marked with its class
}

// topicPause is when messages of a topic that is missing or forbidden are tried again. It is short enough
// to notice soon that someone has mended it, and long enough to keep many such messages from filling every
// claim.
const topicPause = 5 * time.Second

// classify reads the client's error for one record. sent tells whether any produce request went out since
// the record was handed over: if not, no broker can have a copy, whatever the error says.
func classify(err error, sent bool) verdict {
	if err == nil {
		return verdict{}
	}
	answer, ok := errors.AsType[*kerr.Error](err)
	if !ok {
		// Time-outs, lost connections, a client closed under its sends: nobody has said anything about the message.
		return unanswered(err, sent)
	}
	switch answer.Code {
	case kerr.MessageTooLarge.Code, kerr.RecordListTooLarge.Code:
		// The batch exceeds the topic's or the broker's limit. A message that does so alone will not shrink.
		return verdict{aboutMessage, outbox.Permanent(err)}
	case kerr.InvalidRecord.Code:
		// A record breaks a rule of the topic, such as one without a key on a compacted topic.
		return verdict{aboutMessage, outbox.Permanent(err)}
	case kerr.PolicyViolation.Code:
		// A rule that the operator of the broker has installed, such as a schema check, refuses the content.
		return verdict{aboutMessage, outbox.Permanent(err)}
	case kerr.CorruptMessage.Code:
		// The checksum failed. Damage on the way heals with the next attempt; if it does not, the count of
		// failures ends it.
		return verdict{aboutMessage, err}

	case kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code, kerr.TopicAuthorizationFailed.Code:
		// Someone has yet to create the topic or to grant the right. That says nothing about a message, so
		// no failure is counted and none is parked. Nor is the broker away: as Unavailable it would have
		// the relay hold back everything.
		return verdict{aboutTopic, outbox.RetryAfter(topicPause, err)}
	case kerr.UnsupportedCompressionType.Code, kerr.UnsupportedForMessageFormat.Code:
		// The topic's settings, or the broker's age, do not go with the client's settings. The same for every message.
		return verdict{aboutTopic, outbox.RetryAfter(topicPause, err)}
	case kerr.InvalidTimestamp.Code:
		// Records bear the time of the send, so this host's clock or the topic's bounds are wrong, not a message.
		return verdict{aboutTopic, outbox.RetryAfter(topicPause, err)}
	case kerr.InvalidTopicException.Code:
		// No topic can ever have this name.
		return verdict{aboutTopic, outbox.Permanent(err)}

	case kerr.ClusterAuthorizationFailed.Code, kerr.SaslAuthenticationFailed.Code, kerr.UnsupportedSaslMechanism.Code,
		kerr.IllegalSaslState.Code, kerr.SecurityDisabled.Code, kerr.UnsupportedVersion.Code:
		// We may not publish at all, or cannot talk to this broker. It did not take anything in this attempt, but an
		// earlier attempt of the same send may have gone through.
		return unanswered(err, sent)
	case kerr.OutOfOrderSequenceNumber.Code, kerr.UnknownProducerID.Code, kerr.InvalidProducerEpoch.Code,
		kerr.InvalidProducerIDMapping.Code, kerr.ProducerFenced.Code, kerr.InvalidTxnState.Code:
		// Broker and client disagree about what the client has sent before. A new client knows nothing of it.
		return unanswered(err, sent)
	}
	if answer.Retriable {
		// The client has retried it until time was over: leaders moving, too few replicas, REQUEST_TIMED_OUT. An attempt
		// before the last one may have been appended.
		return unanswered(err, sent)
	}
	// The broker gives no reason that we know, for instance UNKNOWN_SERVER_ERROR. If one record upsets it, the search
	// isolates that one, and the count of failures ends it; as Unknown it would come back for ever.
	return verdict{aboutMessage, err}
}

// unanswered says whether a copy may exist.
func unanswered(err error, sent bool) verdict {
	if sent {
		return verdict{aboutBroker, outbox.Unknown(err)}
	}
	return verdict{aboutBroker, outbox.Unavailable(err)}
}
