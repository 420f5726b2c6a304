package gormstore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// tally counts the statements of a pool, BEGIN and COMMIT included.
type tally struct {
	mu     sync.Mutex
	all    int
	counts map[string]int
	claims chan time.Time // each claim, as long as somebody reads
	rounds chan time.Time // each round of rebalancing, too
}

// TraceQueryStart counts.
func (t *tally) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all++
	switch {
	case strings.Contains(data.SQL, "WITH late AS"):
		t.counts["claim"]++
		tell(t.claims)
	case strings.Contains(data.SQL, `UPDATE "outbox_sessions" SET expires_at`):
		tell(t.rounds)
	case strings.Contains(data.SQL, `DELETE FROM "outbox_claims"`):
		t.counts["settle"]++
	}
	return ctx
}

func tell(who chan time.Time) {
	select {
	case who <- time.Now():
	default:
	}
}

func (*tally) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t *tally) of(kind string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if kind == "" {
		return t.all
	}
	return t.counts[kind]
}

// counted is a store whose pool is counted, with a relay that has nothing to do.
func counted(t *testing.T, config outbox.RelayConfig) (*fixture, *tally, <-chan *outbox.Message) {
	t.Helper()
	connection, err := pgx.ParseConfig(postgresAddress(t))
	if err != nil {
		t.Fatal("parse POSTGRES_URL: it is malformed")
	}
	count := &tally{counts: map[string]int{}, claims: make(chan time.Time), rounds: make(chan time.Time)}
	connection.Tracer = count
	pool := stdlib.OpenDB(*connection)
	t.Cleanup(func() { _ = pool.Close() })
	f := newFixture(t, open(t, postgres.New(postgres.Config{Conn: pool}), gorm.Config{}), 64, gormstore.Config{})
	published := make(chan *outbox.Message, 1)
	relay, err := outbox.NewRelay(f.store, outbox.PublisherFunc(func(_ context.Context, m *outbox.Message) error {
		published <- m
		return nil
	}), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f, count, published
}

func TestCost(t *testing.T) {
	t.Parallel()
	t.Run("of_an_idle_relay_with_the_defaults_is_two_statements_a_second_at_most", func(t *testing.T) {
		t.Parallel()
		_, count, _ := counted(t, outbox.RelayConfig{})
		for range 10 { // the poll grows to its bound
			<-count.claims
		}
		first, before := <-count.rounds, count.of("")
		<-count.rounds
		last, statements := <-count.rounds, count.of("")-before
		if rate := float64(statements) / last.Sub(first).Seconds(); rate > 2 {
			t.Errorf("an idle relay sends %.2f statements a second, want at most 2", rate)
		}
	})
	t.Run("of_a_message_is_one_claim_and_one_settle", func(t *testing.T) {
		t.Parallel()
		const messages, poll = 40, time.Minute
		f, count, published := counted(t, outbox.RelayConfig{Poll: poll})
		<-count.claims // it has its lanes, and found nothing
		claimed, settled, began := count.of("claim"), count.of("settle"), time.Now()
		for range messages {
			f.enqueue("a")
			<-published
			f.eventually("the settle", func() bool { return f.count("outbox_messages") == 0 })
		}
		claimed, settled = count.of("claim")-claimed, count.of("settle")-settled
		// A twentieth of the poll lies between two looks at all lanes, and one that finds something is followed by another.
		polls := 2 * (1 + int(time.Since(began)/(poll/20)))
		if claimed > messages+polls || settled != messages {
			t.Errorf("%d messages, one by one, took %d claims and %d settles, want one of each but for %d polls at most",
				messages, claimed, settled, polls)
		}
	})
}
