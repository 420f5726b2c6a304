package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/internal/testoutput"
	"github.com/postroom/postroom/outbox"
)

// result is what a run of the program came to.
type result struct {
	testing.TB
	args      []string
	code      int
	out, errs string
}

// run runs the program on the database.
func (d *testDatabase) run(args ...string) *result {
	d.Helper()
	return runWith(d, d.url, args...)
}

func runWith(tb testing.TB, url string, args ...string) *result {
	tb.Helper()
	var out, errs bytes.Buffer
	getenv := func(name string) string { return map[string]string{"DATABASE_URL": url}[name] }
	code := run(tb.Context(), args, getenv, &out, &errs)
	return &result{tb, args, code, out.String(), errs.String()}
}

// inBackground is a run of the program that goes on.
type inBackground struct {
	out, errs testoutput.Buffer
	interrupt func()
	ended     chan int
}

// background begins a run of the program on the database.
func (d *testDatabase) background(args ...string) *inBackground {
	d.Helper()
	ctx, interrupt := context.WithCancel(d.Context())
	p := &inBackground{interrupt: interrupt, ended: make(chan int, 1)}
	go func() { p.ended <- run(ctx, args, func(string) string { return d.url }, &p.out, &p.errs) }()
	return p
}

// want holds the exit code, and parts of what was printed to either output.
func (r *result) want(code int, parts ...string) *result {
	r.Helper()
	if r.code != code {
		r.Errorf("%v: exit code %d, want %d; printed:\n%s%s", r.args, r.code, code, r.out, r.errs)
	}
	for _, part := range parts {
		if !strings.Contains(r.out+r.errs, part) {
			r.Errorf("%v: want %q to be a part of:\n%s%s", r.args, part, r.out, r.errs)
		}
	}
	return r
}

// decode runs the program with --json, and reads the one document that it prints.
func decode[T any](d *testDatabase, args ...string) (v T) {
	d.Helper()
	r := d.run(append(args, "--json")...).want(0)
	decoder := json.NewDecoder(strings.NewReader(r.out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		d.Fatalf("%v: %v in:\n%s", r.args, err, r.out)
	}
	if decoder.More() {
		d.Errorf("%v printed more than one document:\n%s", r.args, r.out)
	}
	return v
}

// relayed is a session of a relay, driven by hand.
type relayed struct {
	*testDatabase
	id    uuid.UUID
	label string
	lanes []outbox.Lease
}

// join starts a session that holds all lanes which are free.
func (d *testDatabase) join(label string) *relayed {
	d.Helper()
	r := &relayed{testDatabase: d, id: uuid.New(), label: label}
	lanes, err := d.store.AcquireLanes(d.Context(), outbox.LaneRequest{Session: r.id, Relay: label, Lease: time.Hour})
	if err != nil {
		d.Fatal(err)
	}
	r.lanes = lanes.Held
	return r
}

func (r *relayed) claim() outbox.Claim {
	r.Helper()
	c, err := r.store.Claim(r.Context(), outbox.ClaimRequest{
		Token: uuid.New(), Session: r.id, Lanes: r.lanes, Limit: 5000, Bytes: 1 << 20,
	})
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// settle ends a claim as judge says.
func (r *relayed) settle(c outbox.Claim, judge func(*outbox.Claimed) outbox.Outcome) {
	r.Helper()
	outcomes := make([]outbox.Outcome, len(c.Messages))
	for i, m := range c.Messages {
		outcomes[i] = judge(m)
		outcomes[i].Claimed = m
	}
	if _, err := r.store.Settle(r.Context(), c, outcomes); err != nil {
		r.Fatal(err)
	}
}

// drain claims and delivers until there is nothing left, and returns the payloads in their order.
func (r *relayed) drain() (payloads []string) {
	r.Helper()
	for {
		c := r.claim()
		if len(c.Messages) == 0 {
			return payloads
		}
		for _, m := range c.Messages {
			payloads = append(payloads, string(m.Payload))
		}
		r.settle(c, func(*outbox.Claimed) outbox.Outcome { return outbox.Outcome{Verdict: outbox.Delivered} })
	}
}

func parkedFor(text string) func(*outbox.Claimed) outbox.Outcome {
	return func(*outbox.Claimed) outbox.Outcome {
		return outbox.Outcome{Verdict: outbox.ParkKey, Class: outbox.ClassRefused, Err: errors.New(text)}
	}
}

// seedID is the id of the nth message of a seeded database.
func seedID(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("0193a1b2-0000-7000-8000-%012d", n)) }

// seed stores messages of nearly every status: 1 and 3 are parked, 2 is held behind 1, 4 is skipped, 5 waits for a
// retry, 6 is in flight, 7 is pending, and 8 is scheduled.
func (d *testDatabase) seed() *relayed {
	d.Helper()
	put := func(n int, topic, key string) {
		m := message(topic, key)
		m.ID, m.Payload = seedID(n), fmt.Appendf(nil, `{"order":%d}`, n)
		m.Headers = []outbox.Header{{Name: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
		if n == 8 {
			m.AvailableAt = time.Now().Add(48 * time.Hour)
		}
		d.enqueue(m)
	}
	put(1, "orders", "customer-1")
	put(2, "orders", "customer-1")
	put(3, "orders", "customer-2")
	put(4, "invoices", "customer-3")
	put(5, "invoices", "customer-3")
	put(8, "reports", "customer-6")
	r := d.join("shop-1")
	r.settle(r.claim(), func(m *outbox.Claimed) outbox.Outcome {
		o := parkedFor("dial tcp 10.0.0.7:9092: connection refused")(m)
		switch m.ID {
		case seedID(2):
			return outbox.Outcome{Verdict: outbox.Release}
		case seedID(3):
			o.Class, o.Err = outbox.ClassPermanent, errors.New("message too large")
		case seedID(4):
			o.Verdict = outbox.ParkOne
		case seedID(5):
			o.Verdict, o.RetryIn = outbox.Retry, 10*time.Hour
		}
		return o
	})
	put(6, "orders", "customer-4")
	r.claim()
	put(7, "orders", "customer-5")
	return r
}
