package kafka

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	knownAge   = 5 * time.Minute  // how long an answer is believed
	unknownAge = 15 * time.Second // how soon a question is repeated that got none
	maxTopics  = 4096             // about how many are remembered; beyond it everything is forgotten
)

// limits knows how large a batch each topic takes. It only shapes batches: whether a message is too large
// is for the broker to say, so neither an old answer nor a missing right to ask costs more than a batch
// that is sent twice.
type limits struct {
	max  int           // of the client
	wait time.Duration // for an answer

	mu     sync.Mutex
	topics map[string]topicLimit
}

type topicLimit struct {
	bytes int // zero: not known
	until time.Time
}

func newLimits(most int, wait time.Duration) *limits {
	return &limits{max: most, wait: wait, topics: make(map[string]topicLimit)}
}

// batch is the size, in bytes, of the largest batch for topic.
func (l *limits) batch(topic string) int {
	if known := l.known(topic); known > 0 {
		return min(l.max, known)
	}
	return l.max
}

// known is the topic's own limit, zero if it is not known.
func (l *limits) known(topic string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.topics[topic].bytes
}

// learn asks for the limits of those topics that it does not know, all at once.
func (l *limits) learn(ctx context.Context, k *kgo.Client, topics []string) {
	missing := l.missing(topics)
	if len(missing) == 0 {
		return
	}
	asking, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	answers := describe(asking, k, missing, maxMessageBytes)
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.topics) >= maxTopics {
		clear(l.topics)
	}
	for _, t := range missing {
		bytes, err := strconv.Atoi(answers[t][maxMessageBytes])
		age := knownAge
		if err != nil {
			age = unknownAge
		}
		l.topics[t] = topicLimit{bytes, time.Now().Add(age)}
	}
}

// forget has a topic asked again, because a batch was refused that it should have taken.
func (l *limits) forget(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.topics, topic)
}

func (l *limits) missing(topics []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var missing []string
	now := time.Now()
	for _, t := range topics {
		if now.After(l.topics[t].until) {
			missing = append(missing, t)
		}
	}
	return missing
}

const maxMessageBytes = "max.message.bytes"

// describe returns named settings of those topics that exist and may be described, by topic and name.
func describe(ctx context.Context, k *kgo.Client, topics []string, names ...string) map[string]map[string]string {
	request := kmsg.NewDescribeConfigsRequest()
	for _, t := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, t, names
		request.Resources = append(request.Resources, r)
	}
	response, err := request.RequestWith(ctx, k)
	if err != nil {
		return nil
	}
	found := make(map[string]map[string]string)
	for _, r := range response.Resources {
		found[r.ResourceName] = make(map[string]string)
		for _, c := range r.Configs {
			if c.Value != nil {
				found[r.ResourceName][c.Name] = *c.Value
			}
		}
	}
	return found
}
