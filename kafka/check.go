package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/postroom/postroom/outbox"
)

// The settings of a topic that Check looks at, beside max.message.bytes.
const (
	minInSync       = "min.insync.replicas"
	uncleanElection = "unclean.leader.election.enable"
)

// Check looks at the topics that messages will go to, so that a program can tell at its start. It changes nothing, and
// publishing needs no Check. It takes at most Config.DeliveryTimeout.
//
// The error names every topic that does not exist or can take nothing, or says that no broker answered. The warnings
// are about settings with which a confirmed message may be lost, or a message refused: too few replicas, a lower
// limit of bytes than ours. Settings that may not be read are one of them.
func (p *Publisher) Check(ctx context.Context, topics ...string) (warnings []string, err error) {
	client, err := p.pool.borrow()
	if err != nil {
		return nil, outbox.Unavailable(err)
	}
	defer p.pool.giveBack(client)
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, errTimeout)
	defer cancel()
	defer context.AfterFunc(p.pool.closing, cancel)()

	found, err := metadata(ctx, client.kafka, topics)
	if err != nil {
		return nil, fmt.Errorf("check topics: %w", outbox.Unavailable(err))
	}
	settings := describe(ctx, client.kafka, topics, maxMessageBytes, minInSync, uncleanElection)
	var faults []error
	for _, t := range found {
		name := *t.Topic
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			faults = append(faults, fmt.Errorf("topic %s: %w: create it, or grant the right to it", name, err))
			continue
		}
		more, err := p.judge(name, replicas(t), settings[name])
		faults, warnings = append(faults, err), append(warnings, more...)
	}
	return warnings, errors.Join(faults...)
}

// metadata asks for topics by name. An answer names them all.
func metadata(ctx context.Context, k *kgo.Client, topics []string) ([]kmsg.MetadataResponseTopic, error) {
	request := kmsg.NewMetadataRequest()
	request.AllowAutoTopicCreation = false
	request.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		request.Topics = append(request.Topics, t)
	}
	response, err := request.RequestWith(ctx, k)
	if err != nil {
		return nil, err
	}
	return response.Topics, nil
}

// replicas returns the lowest number of any partition.
func replicas(t kmsg.MetadataResponseTopic) int {
	lowest := 0
	for i, p := range t.Partitions {
		if n := len(p.Replicas); i == 0 || n < lowest {
			lowest = n
		}
	}
	return lowest
}

func (p *Publisher) judge(topic string, replicas int, settings map[string]string) (warnings []string, fault error) {
	warn := func(format string, args ...any) {
		warnings = append(warnings, "topic "+topic+": "+fmt.Sprintf(format, args...))
	}
	if settings[minInSync] == "" {
		warn("its settings cannot be read: grant the user DescribeConfigs to have them checked")
		return warnings, nil
	}
	inSync, _ := strconv.Atoi(settings[minInSync])
	switch {
	case inSync > replicas:
		return nil, fmt.Errorf("topic %s can take nothing: %s is %d, its replicas are %d", topic, minInSync, inSync, replicas)
	case replicas == 1:
		warn("it has one replica: what is confirmed is lost with its broker")
	case inSync == 1:
		warn("%s is 1: what one broker alone has confirmed is lost with it; set 2", minInSync)
	case inSync == replicas:
		warn("%s is the number of replicas: nothing is taken while one broker is away", minInSync)
	}
	if settings[uncleanElection] == "true" {
		warn("%s is true: a broker that lacks confirmed messages may lead", uncleanElection)
	}
	if limit, err := strconv.Atoi(settings[maxMessageBytes]); err == nil && limit < p.limits.max {
		warn("%s is %d, MaxMessageBytes %d: the broker refuses what is in between", maxMessageBytes, limit, p.limits.max)
	}
	return warnings, nil
}
