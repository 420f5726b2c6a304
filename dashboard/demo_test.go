package dashboard_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// demoTime is when the pictures are taken.
var demoTime = time.Date(2026, 3, 14, 3, 7, 0, 0, time.UTC)

// demo is a store with the outbox of a shop at three in the morning: payments do not get through, the rest does. Its
// ages are those at demoTime, whenever it is asked.
type demo struct {
	mu      sync.Mutex
	broken  error // of every question
	backlog outbox.Backlog
	records []outbox.Record
	audit   []outbox.AuditEntry
	pauses  []outbox.Pause
}

func newDemo() *demo {
	d := &demo{backlog: outbox.Backlog{Counts: []outbox.BacklogCount{
		{Topic: "inventory", Status: outbox.StatusPending, Messages: 38, Oldest: 2 * time.Second},
		{Topic: "invoices", Status: outbox.StatusScheduled, Messages: 212},
		{Topic: "notifications", Status: outbox.StatusPaused, Messages: 96, Oldest: 11 * time.Minute},
		{Topic: "orders", Status: outbox.StatusInFlight, Messages: 180, Oldest: 1 * time.Second},
		{Topic: "orders", Status: outbox.StatusPending, Messages: 421, Oldest: 3 * time.Second},
		{Topic: "payments", Status: outbox.StatusHeld, Messages: 64, Oldest: 41 * time.Minute},
		{Topic: "payments", Status: outbox.StatusParked, Messages: 17, Oldest: 42 * time.Minute},
		{Topic: "payments", Status: outbox.StatusPending, Messages: 52, Oldest: 4 * time.Second},
		{Topic: "payments", Status: outbox.StatusRetrying, Messages: 9, Oldest: 95 * time.Second},
		{Topic: "shipping", Status: outbox.StatusInFlight, Messages: 40, Oldest: 1 * time.Second},
		{Topic: "shipping", Status: outbox.StatusPending, Messages: 133, Oldest: 2 * time.Second},
		{Topic: "shipping", Status: outbox.StatusSkipped, Messages: 2, Oldest: 26 * time.Hour},
	}}}
	d.addRecords()
	d.addActs()
	return d
}

// id is a UUIDv7 of a moment, alike in every run.
func (d *demo) id(at time.Time, n int) uuid.UUID {
	millis := at.UnixMilli()
	return uuid.MustParse(fmt.Sprintf("%08x-%04x-7%03x-%04x-%012x",
		millis>>16, millis&0xffff, n*977%0x1000, 0x8000+n*7919%0x4000, uint64(n+1)*0x9e3779b97f4a7%0x1000000000000))
}

func (d *demo) add(age time.Duration, topic, kind, key string, status outbox.Status, edit func(*outbox.Record)) {
	n := len(d.records)
	at := demoTime.Add(-age)
	r := outbox.Record{
		Message: &outbox.Message{
			ID: d.id(at, n), Topic: topic, Type: kind, Key: key, Version: 1, ContentType: "application/json", CreatedAt: at,
			Payload: fmt.Appendf(nil, `{"order_id":"o-%d","customer":%q,"total_cents":%d}`, 48210+n, key, 1999+n*250),
			Headers: []outbox.Header{
				{Name: "traceparent", Value: fmt.Sprintf("00-%016x%016x-%016x-01",
					0x4bf92f3577b34da6+n*77171, 0x63ce929d0e0e4736-n*91193, 0x20f067aa0ba902b7+n*31_337_111)},
				{Name: "correlation_id", Value: fmt.Sprintf("req-%06d", 771230+n*13)},
			},
		},
		Number: int64(918_200 + n), Lane: n * 7 % 64, Status: status,
	}
	if edit != nil {
		edit(&r)
	}
	d.records = append(d.records, r)
}

const (
	noQueue  = "no queue is bound: 312 NO_ROUTE from exchange payments, routing key PaymentCaptured"
	tooLarge = "message of 1182044 bytes is larger than max.message.bytes of the topic (1048588)"
	refused  = "dial tcp 10.4.0.17:9092: connect: connection refused"
)

func (d *demo) addRecords() {
	d.add(26*time.Hour, "shipping", "LabelPrinted", "warehouse-2", outbox.StatusSkipped, func(r *outbox.Record) {
		r.Attempts, r.Failures, r.LastClass, r.LastError = 1, 1, outbox.ClassPermanent, tooLarge
	})
	for n := range 17 {
		age := 42*time.Minute - time.Duration(n)*97*time.Second
		d.add(age, "payments", "PaymentCaptured", fmt.Sprintf("customer-%d", 1040+n*3), outbox.StatusParked,
			func(r *outbox.Record) {
				r.Attempts, r.Failures, r.LastClass, r.LastError = 10, 10, outbox.ClassUnroutable, noQueue
				r.Uncertain = n == 4
			})
		if n%4 == 0 {
			d.add(age-time.Minute, "payments", "PaymentRefunded", fmt.Sprintf("customer-%d", 1040+n*3), outbox.StatusHeld, nil)
		}
	}
	for n := range 4 {
		age := 95*time.Second - time.Duration(n)*11*time.Second
		d.add(age, "payments", "PaymentCaptured", fmt.Sprintf("customer-%d", 2210+n), outbox.StatusRetrying,
			func(r *outbox.Record) {
				r.Attempts, r.LastClass, r.LastError = 3, outbox.ClassUnavailable, refused
				r.DueIn = time.Duration(9+n) * time.Second
			})
	}
	for n := range 40 {
		topic, kind := "orders", "OrderPlaced"
		if n%3 == 2 {
			topic, kind = "shipping", "ShipmentRequested"
		}
		status := outbox.StatusPending
		if n < 8 {
			status = outbox.StatusInFlight
		}
		age := 4*time.Second - time.Duration(n)*90*time.Millisecond
		d.add(age, topic, kind, fmt.Sprintf("customer-%d", 3000+n*7), status, nil)
	}
}

func (d *demo) addActs() {
	act := func(ago time.Duration, by, deed, why string, scope outbox.Scope, message uuid.UUID) {
		d.audit = append(d.audit, outbox.AuditEntry{
			Number: int64(len(d.audit) + 1), At: demoTime.Add(-ago), Deed: deed, Act: outbox.Act{By: by, Reason: why},
			Scope: scope, Message: message,
		})
	}
	shipped := outbox.Scope{Topic: "shipping", Key: "warehouse-2"}
	act(25*time.Hour, "on-call", "skip", "label too large, reprinted by hand", shipped, d.records[0].ID)
	act(9*time.Hour, "release", "pause", "broker upgrade", outbox.Scope{}, uuid.Nil)
	act(8*time.Hour+52*time.Minute, "release", "resume", "upgrade done", outbox.Scope{}, uuid.Nil)
	mails := outbox.Scope{Topic: "notifications"}
	act(12*time.Minute, "on-call", "pause", "mail provider is down, INC-2291", mails, uuid.Nil)
	one := d.records[5]
	scope := outbox.Scope{Topic: one.Topic, Key: one.Key}
	act(6*time.Minute, "on-call", "requeue", "try one after binding the queue", scope, one.ID)
	d.pauses = []outbox.Pause{
		{Scope: outbox.Scope{Key: "customer-977"}, Act: outbox.Act{By: "release", Reason: "duplicate account, merge in progress"}, At: demoTime.Add(-3 * time.Hour)},
		{Scope: outbox.Scope{Topic: "notifications"}, Act: outbox.Act{By: "on-call", Reason: "mail provider is down, INC-2291"}, At: demoTime.Add(-12 * time.Minute)},
	}
}
