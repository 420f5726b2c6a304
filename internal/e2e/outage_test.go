package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	outage    = 20 * time.Second
	customers = 8
	pause     = 100 * time.Millisecond // between two orders of a customer
)

// survivesOutage stops the broker under customers who go on ordering.
func survivesOutage(t *testing.T, c combination) {
	d, n := c.database(t), c.node(t)
	topic := newTopic(t, n)
	api := startAPI(t, c, servers(d, n, topic))
	logFailures(t, d)
	load := orderSteadily(t, api)

	step := stopwatch(t)
	eventually(t, func() string { return load.reached(customers * 5) })
	before := load.total()
	n.stop(t)
	step("stopping the broker, after %d orders", before)
	awaitOutage(t, d)
	n.start(t)
	during := load.total() - before
	step("the outage and the broker's start, with %d orders", during)
	eventually(t, func() string { return load.reached(before + during + customers*5) })
	want := load.stop(t)
	d.awaitEmpty(t)
	step("the delivery of the rest, with %d orders", load.total()-during-before)

	if during < customers*50 {
		t.Errorf("only %d orders were placed during the outage", during)
	}
	sequenceOf(want, n.record(t, topic).finish(t)).check(t)
	checkNoFailures(t, d)
	awaitShipments(t, d)
	step("the last shipment")
	api.terminate(t)
}

// stopwatch returns what logs the time since its last call.
func stopwatch(t *testing.T) func(format string, args ...any) {
	t.Helper()
	last := time.Now()
	return func(format string, args ...any) {
		t.Helper()
		t.Logf("%v: %s", time.Since(last).Round(time.Millisecond), fmt.Sprintf(format, args...))
		last = time.Now()
	}
}

// logFailures keeps every failure and every parked message that the table has ever shown.
func logFailures(t *testing.T, d *database) {
	t.Helper()
	run(t, d.view, `CREATE TABLE failure_log (id uuid, state int, failures int, class text, error text)`)
	run(t, d.view, `
		CREATE FUNCTION log_failure() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO failure_log VALUES (NEW.id, NEW.state, NEW.failures, NEW.last_class, NEW.last_error);
			RETURN NULL;
		END $$`)
	run(t, d.view, `
		CREATE TRIGGER log_failure AFTER UPDATE ON outbox_messages FOR EACH ROW
		WHEN (NEW.failures > 0 OR NEW.state IN (3, 5)) EXECUTE FUNCTION log_failure()`)
}

func checkNoFailures(t *testing.T, d *database) {
	t.Helper()
	type failure struct {
		ID, Class, Error string
		State, Failures  int
	}
	if log := scan[[]failure](t, d.view, "SELECT * FROM failure_log"); len(log) > 0 {
		t.Errorf("the outage was counted as %d failures of messages, the first of them %+v", len(log), log[0])
	}
}

// awaitOutage lets the outage last, and requires that a message shows it.
func awaitOutage(t *testing.T, d *database) {
	t.Helper()
	end := time.NewTimer(outage)
	defer end.Stop()
	eventually(t, func() string {
		if scan[int](t, d.view, "SELECT count(*) FROM outbox_messages WHERE last_class IN ('unavailable', 'unknown')") == 0 {
			return "no message shows that the broker is away"
		}
		return ""
	})
	select {
	case <-end.C:
	case <-t.Context().Done():
	}
}

// awaitShipments waits until the shop's own consumer has been through the outage, too.
func awaitShipments(t *testing.T, d *database) {
	t.Helper()
	eventuallyEvery(t, 200*time.Millisecond, func() string {
		if n := scan[int](t, d.view, `
			SELECT count(*) FROM orders WHERE NOT EXISTS (SELECT FROM shipments WHERE order_id = orders.id)`); n > 0 {
			return fmt.Sprintf("%d orders have no shipment", n)
		}
		return ""
	})
}

// load is customers who place one order after another; the total of each is its number.
type load struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	placed  map[string]int
	refused []string
}

func orderSteadily(t *testing.T, api *shop) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{cancel: cancel, placed: map[string]int{}}
	for i := range customers {
		l.wg.Go(func() { l.order(ctx, t, api, fmt.Sprintf("c-%d", i)) })
	}
	t.Cleanup(func() { cancel(); l.wg.Wait() })
	return l
}

// order ends at the first answer that is not 201, because the number of a refused order would be missing.
func (l *load) order(ctx context.Context, t *testing.T, api *shop, customer string) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := 1; ; n++ {
		a, err := api.try(t, "POST", "/orders", order(customer, n))
		if err != nil || a.status != http.StatusCreated {
			l.refuse(fmt.Sprintf("order %d of %s was answered %d %s (%v)", n, customer, a.status, a.body, err))
			return
		}
		l.place(customer, n)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *load) place(customer string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.placed[customer] = n
}

func (l *load) refuse(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = append(l.refused, what)
}

func (l *load) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := 0
	for _, n := range l.placed {
		total += n
	}
	return total
}

func (l *load) reached(n int) string {
	if total := l.total(); total < n {
		return fmt.Sprintf("%d of %d orders were placed", total, n)
	}
	return ""
}

// stop ends the customers, and returns how many orders each has placed.
func (l *load) stop(t *testing.T) map[string]int {
	t.Helper()
	l.cancel()
	l.wg.Wait()
	for _, what := range l.refused {
		t.Error(what)
	}
	return l.placed
}
