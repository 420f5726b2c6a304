package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
	"github.com/postroom/postroom/outbox"
)

// route is where messages that are stored are to go.
type route struct {
	Transport, Topic string
	Messages         int64
}

// routesLooked bounds the messages that are asked for their way.
const routesLooked = 100_000

// readRoutes asks where some of the messages that are stored are to go.
func (e *examination) readRoutes(ctx context.Context) ([]route, error) {
	return query[route](ctx, e, `
SELECT transport, topic, count(*) AS messages
FROM (SELECT transport, topic FROM `+e.table("messages")+` LIMIT ?) m
GROUP BY transport, topic ORDER BY 1, 2`, routesLooked)
}

// serves reports whether a broker takes the messages of a transport.
func serves(b relayconf.Broker, transport string) bool {
	return b.Name == transport || b.Default && transport == ""
}

// transports looks for messages that no transport of the configuration takes.
func (e *examination) transports(context.Context) ([]Finding, error) {
	if len(e.Brokers) == 0 {
		return nil, nil
	}
	routes, err := e.routes()
	var findings []Finding
	for _, r := range routes {
		if slices.ContainsFunc(e.Brokers, func(b relayconf.Broker) bool { return serves(b, r.Transport) }) {
			continue
		}
		f := Finding{
			Severity: Critical, Subject: fmt.Sprintf("transport %q", r.Transport),
			Text: fmt.Sprintf("the configuration has none of that name, which holds back %s of topic %s",
				count(r.Messages, "message"), r.Topic),
			Fix: "add it under transports",
		}
		if r.Transport == "" {
			f.Fix = "set default_transport, which serves messages that name none"
		}
		findings = append(findings, f)
	}
	return findings, err
}

// brokers looks whether each broker answers, and up the topics that the configuration names and that messages wait for.
func (e *examination) brokers(ctx context.Context) ([]Finding, error) {
	if len(e.Brokers) == 0 {
		return []Finding{{
			Severity: Notice, Subject: "brokers", Text: "they were not looked at",
			Fix: "give --config, the configuration of a relay, or --kafka or --amqp",
		}}, nil
	}
	var routes []route
	var err error // leaves the topics of the configuration
	if !e.missing {
		routes, err = e.routes()
	}
	var findings []Finding
	for _, b := range e.Brokers {
		topics := slices.Clone(b.Topics)
		for _, r := range routes {
			if serves(b, r.Transport) {
				topics = append(topics, r.Topic)
			}
		}
		slices.Sort(topics)
		findings = append(findings, lookUp(ctx, b, slices.Compact(topics))...)
	}
	return findings, err
}

func lookUp(ctx context.Context, b relayconf.Broker, topics []string) (findings []Finding) {
	subject := "transport " + b.Name
	warnings, err := b.Check(ctx, topics)
	for _, w := range warnings {
		findings = append(findings, remedyOf(w).finding(subject, w))
	}
	if outbox.ClassOf(err) == outbox.ClassUnavailable {
		return append(findings, Finding{
			Severity: Critical, Subject: subject, Text: fmt.Sprintf("the broker cannot be reached: %v", err),
			Fix: "start it, or correct its address, account or certificate; relays wait for it, and lose nothing",
		})
	}
	for _, fault := range split(err) {
		if strings.Contains(fault.Error(), "the management API") {
			findings = append(findings, Finding{
				Severity: Warning, Subject: subject, Text: fault.Error(),
				Fix: "correct the address of the management API, or give its account the tag monitoring",
			})
			continue
		}
		fix := "create what is missing, or let its messages go elsewhere: until then they wait, and are parked after " +
			"Policy.MaxAttempts; an application whose Route is its own may send them elsewhere already"
		if b.Kafka {
			fix = "create what is missing, or let its messages go elsewhere: until then they wait"
		}
		findings = append(findings, Finding{Severity: Critical, Subject: subject, Text: fault.Error(), Fix: fix})
	}
	return findings
}

// split returns the errors that were joined.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// remedy is what a publisher's warning calls for.
type remedy struct {
	part     string // of the warning
	severity Severity
	fix      string
}

var remedies = []remedy{
	{"has the alternate exchange", Warning, "declare the exchange without one, or clear it from its policy, so that a " +
		"message that no queue takes is parked instead of lost; or watch the queues behind it"},
	{"has no queue bound to it", Warning, "bind a queue to it for each type, before messages are parked"},
	{"is not durable", Warning, "declare it as durable"},
	{"drops its oldest messages", Warning, "declare the queue with x-overflow: reject-publish, or without a bound"},
	{"TrustQueues breaks the order", Warning, "set trust_queues: false, or the queue's overflow to drop-head"},
	{"cannot be seen", Notice, "give amqp.management in the configuration, or --management"},
	{"its settings cannot be read", Notice, "grant the account DescribeConfigs on the topic"},
	{"it has one replica", Warning, "give the topic three replicas, and min.insync.replicas=2"},
	{"min.insync.replicas is 1", Warning, "set min.insync.replicas=2 on the topic"},
	{"min.insync.replicas is the number of replicas", Warning, "add a replica, or lower min.insync.replicas by one"},
	{"unclean.leader.election.enable is true", Warning, "set unclean.leader.election.enable=false on the topic"},
	{"max.message.bytes is", Warning, "raise the topic's max.message.bytes, or lower kafka.max_message_bytes"},
}

func remedyOf(warning string) remedy {
	for _, r := range remedies {
		if strings.Contains(warning, r.part) {
			return r
		}
	}
	return remedy{severity: Warning, fix: "see to what it says"}
}

func (r remedy) finding(subject, text string) Finding {
	return Finding{Severity: r.severity, Subject: subject, Text: text, Fix: r.fix}
}
