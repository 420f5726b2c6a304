package amqp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// parcelsTo returns n parcels for queue, by the default exchange.
func parcelsTo(t *testing.T, queue string, n int) []*parcel {
	t.Helper()
	ps := make([]*parcel, n)
	for i := range ps {
		m := &outbox.Message{ID: uuid.New(), Topic: "t", Type: "placed", Version: 1, Payload: fmt.Appendf(nil, "%d", i)}
		p, err := (&encoder{now: time.Now()}).encode(i, m, route{key: queue})
		if err != nil {
			t.Fatal(err)
		}
		ps[i] = p
	}
	return ps
}

// openWithQueue returns a publisher, and a queue with the channel that reads it; all end with the test.
func openWithQueue(t *testing.T) (*Publisher, *amqp091.Channel, string) {
	t.Helper()
	p, err := Open(Config{URLs: []string{testservices.AMQP(t)}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := amqp091.Dial(testservices.AMQP(t))
	if err != nil {
		t.Fatal(err)
	}
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	queue := testservices.Name("amqp")
	if _, err := ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = ch.QueueDelete(queue, false, false, false)
		_ = conn.Close()
		_ = p.Close()
	})
	return p, ch, queue
}

// sendAll sends parcels as one call does, past the checks that Publish makes first.
func sendAll(t *testing.T, p *Publisher, parcels []*parcel) []outbox.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := p.newCall(ctx, len(parcels))
	defer c.giveBack()
	c.send(parcels)
	return c.results
}

// TestIsolateWithoutHint sends what check would have refused: a header that RabbitMQ wants as a list. Its
// complaint tells neither the message nor its route.
func TestIsolateWithoutHint(t *testing.T) {
	t.Parallel()
	p, ch, queue := openWithQueue(t)
	const n = 500
	parcels := parcelsTo(t, queue, n)
	poison := map[int]bool{0: true, 123: true, 124: true, 499: true}
	for i := range poison {
		parcels[i].publishing.Headers["CC"] = "not a list"
	}
	for i, r := range sendAll(t, p, parcels) {
		if got := outbox.ClassOf(r.Err()); poison[i] && got != outbox.ClassPermanent {
			t.Errorf("poison %d is %s (%v), want permanent", i, got, r.Err())
		}
		if !poison[i] && !r.Accepted() {
			t.Errorf("neighbour %d was not accepted: %v", i, r.Err())
		}
	}
	held := map[string]bool{}
	for d, ok, _ := ch.Get(queue, true); ok; d, ok, _ = ch.Get(queue, true) {
		held[string(d.Body)] = true
	}
	if len(held) != n-len(poison) {
		t.Errorf("queue holds %d different messages, want %d", len(held), n-len(poison))
	}
}

// TestIsolateBrokenOff ends the search for a culprit before the others have gone out again. The channel that the broker
// closed may have brought it any of them.
func TestIsolateBrokenOff(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *call, cancel context.CancelFunc){
		"by_the_caller":     func(_ *call, cancel context.CancelFunc) { cancel() },
		"by_a_broker_s_end": func(c *call, _ context.CancelFunc) { c.down = errors.New("connection lost") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Open(Config{URLs: []string{"amqp://localhost"}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			parcels := parcelsTo(t, "queue", 4)
			c := p.newCall(ctx, len(parcels))
			end(c, cancel)
			c.isolate(parcels, &amqp091.Error{Code: amqp091.PreconditionFailed, Server: true})
			for i, r := range c.results {
				if got := outbox.ClassOf(r.Err()); got != outbox.ClassUnknown {
					t.Errorf("message %d, of which a copy may be in a queue, is %q (%v), want unknown", i, got, r.Err())
				}
			}
		})
	}
}

func TestSuspicion(t *testing.T) {
	t.Parallel()
	parcels := []*parcel{
		{index: 0, route: route{"orders", "placed"}, publishing: amqp091.Publishing{Body: make([]byte, 10)}},
		{index: 1, route: route{"orders", "shipped"}, publishing: amqp091.Publishing{Body: make([]byte, 2000)}},
		{index: 2, route: route{"stock", "placed"}, publishing: amqp091.Publishing{Body: make([]byte, 1024)}},
	}
	for name, c := range map[string]struct {
		code int
		text string
		want []int
	}{
		"by_the_exchange_of_a_404": {404, "NOT_FOUND - no exchange 'stock' in vhost '/'", []int{2}},
		"by_the_exchange_of_a_403": {
			403, "ACCESS_REFUSED - access to exchange 'orders' in vhost '/' refused for user 'u'", []int{0, 1},
		},
		"by_the_topic_of_a_403": {
			403, "ACCESS_REFUSED - access to topic 'shipped' in exchange 'orders' in vhost '/' refused for user 'u'", []int{1},
		},
		"by_the_limit_of_a_406": {
			406, "PRECONDITION_FAILED - message size 2000 is larger than configured max size 1024", []int{1},
		},
		"not_at_all_by_another_text":  {406, "PRECONDITION_FAILED - something else", nil},
		"not_at_all_without_any_text": {406, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suspected := suspicion(&amqp091.Error{Code: c.code, Reason: c.text, Server: true})
			var got []int
			for _, p := range parcels {
				if suspected(p) {
					got = append(got, p.index)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("suspects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsAboutMessage(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{
		311: true, 403: true, 404: true, 406: true,
		320: false, 405: false, 501: false, 504: false, 530: false, 541: false,
	} {
		if got := isAboutMessage(&amqp091.Error{Code: code, Server: true}); got != want {
			t.Errorf("a channel closed with %d is about a message: %v, want %v", code, got, want)
		}
	}
	if isAboutMessage(nil) || isAboutMessage(&amqp091.Error{Code: 404}) {
		t.Error("an end that the broker did not explain is taken for one about a message")
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	for failures := 1; failures < 100; failures++ {
		longest := min(minPause<<min(failures-1, 10), maxPause)
		if p := pause(failures); p < longest/2 || p > longest {
			t.Errorf("pause after %d failures is %v, want %v to %v", failures, p, longest/2, longest)
		}
	}
}

// TestCheckFrame fills the frame of the properties to the byte. RabbitMQ ends a connection over one that is
// too large.
func TestCheckFrame(t *testing.T) {
	t.Parallel()
	p, _, queue := openWithQueue(t)
	const frameMax = 128 << 10 // what client and broker agree on by default
	parcels := parcelsTo(t, queue, 3)
	for i, over := range []int{0, 1, -frameMax / 2} {
		headers := parcels[i].publishing.Headers
		headers["pad"] = ""
		headers["pad"] = strings.Repeat("x", frameMax+over-headerFrameSize(&parcels[i].publishing))
		parcels[i].headerFrame = headerFrameSize(&parcels[i].publishing)
	}
	results := sendAll(t, p, parcels)
	if !results[0].Accepted() || !results[2].Accepted() {
		t.Errorf("frames within the limit: %v, %v; want both accepted", results[0].Err(), results[2].Err())
	}
	if outbox.ClassOf(results[1].Err()) != outbox.ClassPermanent {
		t.Errorf("a frame above the limit: %v, want it refused for good", results[1].Err())
	}
}
