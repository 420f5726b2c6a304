package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/postroom/postroom/outbox"
)

// Observer counts and times what relays do. Put it into [outbox.RelayConfig]; several relays may have the same.
func (t *Telemetry) Observer() outbox.Observer {
	return outbox.Observer{
		Cycle: t.cycle,
		LeaseLost: func(outbox.LeaseEvent) {
			t.instruments.leasesLost.Add(context.Background(), 1, t.with())
		},
	}
}

// with returns attributes and the outbox's name.
func (t *Telemetry) with(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(attributes, nameKey.String(t.config.Name))...)
}

// record adds a time, with the kind of error if there was one.
func (t *Telemetry) record(h metric.Float64Histogram, took time.Duration, err error) {
	if err == nil {
		h.Record(context.Background(), took.Seconds(), t.with())
		return
	}
	h.Record(context.Background(), took.Seconds(), t.with(failure(err)))
}

func (t *Telemetry) cycle(e outbox.CycleEvent) {
	claimed := len(e.Outcomes) > 0
	if claimed {
		t.record(t.instruments.claiming, e.Claiming, nil)
		t.record(t.instruments.settling, e.Settling, e.Err)
		t.record(t.instruments.cycling, e.Took, e.Err)
	} else {
		t.record(t.instruments.claiming, e.Claiming, e.Err)
	}
	if e.Waited > 0 {
		t.record(t.instruments.waking, e.Waited, nil)
	}
	if claimed {
		t.count(e)
	}
}

// fate is what outcomes have in common that are counted together.
type fate struct {
	topic, outcome string
	verdict        outbox.Verdict
}

// count adds up the outcomes of a claim. Hand-overs count whether or not they could be settled, and again when a
// message is handed over again.
func (t *Telemetry) count(e outbox.CycleEvent) {
	fates := make(map[fate]int64)
	for _, o := range e.Outcomes {
		fates[fate{o.Topic, outcome(o.Verdict == outbox.Delivered, o.Err), o.Verdict}]++
	}
	ctx, uncertain := context.Background(), int64(0)
	for f, n := range fates {
		topic := t.topics.attribute(f.topic)
		if f.outcome != "" {
			t.instruments.handovers.Add(ctx, n, t.with(topic, outcomeKey.String(f.outcome)))
		}
		if e.Err == nil {
			t.instruments.settled.Add(ctx, n, t.with(topic, verdictKey.String(verdicts[f.verdict])))
		} else if f.verdict == outbox.Delivered {
			uncertain += n
		}
	}
	if uncertain > 0 {
		t.instruments.uncertain.Add(ctx, uncertain, t.with())
	}
	if errors.Is(e.Err, outbox.ErrClaimLost) && e.Tries == 1 {
		t.instruments.claimsLost.Add(ctx, 1, t.with())
	}
}
