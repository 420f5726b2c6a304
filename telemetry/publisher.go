package telemetry

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/postroom/postroom/outbox"
)

// maxLinks is how many messages of a call are linked; as many as the SDK keeps of a span.
const maxLinks = 128

// Publisher returns p with a span around each call of Publish, and with the metrics of messaging clients. The span
// links to the create spans of the first 128 messages. The order of a key that p keeps is kept, and p's methods Check
// and Close are passed on, where it has them.
func (t *Telemetry) Publisher(p outbox.Publisher) outbox.Publisher { return &publisher{p, t} }

// publisher tells of the calls of another one.
type publisher struct {
	outbox.Publisher
	*Telemetry
}

// KeyOrdered implements [outbox.KeyOrderer].
func (p *publisher) KeyOrdered() bool { return outbox.KeyOrdered(p.Publisher) }

// Check looks at topics, where the publisher can.
func (p *publisher) Check(ctx context.Context, topics ...string) (warnings []string, err error) {
	c, ok := p.Publisher.(interface {
		Check(ctx context.Context, topics ...string) ([]string, error)
	})
	if !ok {
		return nil, nil
	}
	return c.Check(ctx, topics...)
}

// Close ends the publisher, where it can be ended.
func (p *publisher) Close() error {
	c, ok := p.Publisher.(io.Closer)
	if !ok {
		return nil
	}
	return c.Close()
}

// Publish implements [outbox.Publisher].
func (p *publisher) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	ctx, span := p.startSend(ctx, messages)
	defer span.End()
	began := time.Now()
	results := p.Publisher.Publish(ctx, messages)
	p.sent(ctx, span, time.Since(began), messages, results)
	return results
}

// startSend begins the span of a call. Its kind is client: what messages carry is the context of their create spans.
func (t *Telemetry) startSend(ctx context.Context, messages []*outbox.Message) (context.Context, trace.Span) {
	name, attributes := "send", []attribute.KeyValue{
		semconv.MessagingOperationName("send"), semconv.MessagingOperationTypeSend,
		semconv.MessagingSystemKey.String(t.config.System), semconv.MessagingBatchMessageCount(len(messages)),
	}
	if topic, one := onlyTopic(messages); one {
		name, attributes = "send "+topic, append(attributes, semconv.MessagingDestinationName(topic))
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...),
		trace.WithLinks(t.links(messages)...))
}

// onlyTopic returns the topic that all messages have.
func onlyTopic(messages []*outbox.Message) (topic string, one bool) {
	for i, m := range messages {
		if i > 0 && m.Topic != topic {
			return "", false
		}
		topic = m.Topic
	}
	return topic, len(messages) > 0
}

// links lead to the spans in which messages were created.
func (t *Telemetry) links(messages []*outbox.Message) []trace.Link {
	var links []trace.Link
	for _, m := range messages[:min(len(messages), maxLinks)] {
		created := t.config.Propagator.Extract(context.Background(), &carrier{headers: m.Headers})
		if c := trace.SpanContextFromContext(created); c.IsValid() {
			links = append(links, trace.Link{SpanContext: c, Attributes: []attribute.KeyValue{
				semconv.MessagingMessageID(m.ID.String()), semconv.MessagingDestinationName(m.Topic),
			}})
		}
	}
	return links
}

// sent counts what a call has brought, times it, and says on its span how it ended.
func (t *Telemetry) sent(
	ctx context.Context, span trace.Span, took time.Duration, messages []*outbox.Message, results []outbox.Result,
) {
	w := countWords(messages, results)
	send := []attribute.KeyValue{
		semconv.MessagingOperationName("send"), semconv.MessagingSystemKey.String(t.config.System),
	}
	for g, n := range w.groups {
		attributes := slices.Concat(send, []attribute.KeyValue{t.topics.attribute(g.topic)})
		if g.failure != "" {
			attributes = append(attributes, semconv.ErrorTypeKey.String(g.failure))
		}
		t.instruments.sent.AddSet(ctx, n, attribute.NewSet(attributes...))
	}
	send = append(send, semconv.MessagingOperationTypeSend)
	if topic, one := onlyTopic(messages); one {
		send = append(send, t.topics.attribute(topic))
	}
	if w.failed > 0 {
		send = append(send, semconv.ErrorTypeKey.String(w.failure))
		span.SetAttributes(semconv.ErrorTypeKey.String(w.failure))
		span.SetStatus(codes.Error, fmt.Sprintf("%d of %d messages were not accepted", w.failed, len(messages)))
	}
	t.instruments.operation.RecordSet(ctx, took.Seconds(), attribute.NewSet(send...))
}

// words is what a publisher has said of the messages of a call.
type words struct {
	groups  map[group]int64
	failed  int
	failure string // the last one
}

// group is what the broker took of a topic, or did not take for one reason.
type group struct{ topic, failure string }

func countWords(messages []*outbox.Message, results []outbox.Result) words {
	w := words{groups: make(map[group]int64)}
	for i, r := range results[:min(len(results), len(messages))] {
		word := outcome(r.Accepted(), r.Err())
		switch word {
		case "":
			continue // never handed over
		case accepted:
			word = ""
		default:
			w.failed++
			w.failure = word
		}
		w.groups[group{messages[i].Topic, word}]++
	}
	return w
}
