package gormstore_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/outbox"
)

// newBenchmark returns a store on PostgreSQL, and the same database without the hook.
func newBenchmark(b *testing.B, flush string) (f *fixture, bare *gorm.DB) {
	b.Helper()
	address := withParameter(b, postgresAddress(b), "synchronous_commit", flush)
	f = newFixture(b, open(b, postgres.Open(address), gorm.Config{}), 64, gormstore.Config{})
	bare = open(b, postgres.Open(address), gorm.Config{})
	if err := bare.AutoMigrate(&plainRow{}); err != nil {
		b.Fatal(err)
	}
	return f, bare
}

// inTurns measures a function and a bare one in turns, in a random order, and reports the medians and how many times
// as long as the bare one the other takes.
func inTurns(b *testing.B, name string, run, bare func()) {
	b.Helper()
	var took [2][]time.Duration
	for b.Loop() {
		for _, i := range rand.Perm(2) {
			start := time.Now()
			[]func(){run, bare}[i]()
			took[i] = append(took[i], time.Since(start))
		}
	}
	b.ReportMetric(float64(median(took[0]).Microseconds()), "µs/"+name)
	b.ReportMetric(float64(median(took[1]).Microseconds()), "µs/bare")
	b.ReportMetric(float64(median(took[0]))/float64(median(took[1])), "ratio")
}

// BenchmarkCaptureRequest measures a request that writes an order and one message, through the middleware, against the
// same handler that begins a bare GORM transaction and writes a row of the message's size.
func BenchmarkCaptureRequest(b *testing.B) {
	onFlushes(b, benchmarkRequest)
}

// onFlushes runs benchmarks as applications run, and without the wait for the disk, which hides all else.
func onFlushes(b *testing.B, run func(b *testing.B, f *fixture, bare *gorm.DB)) {
	b.Helper()
	for name, flush := range map[string]string{"flushed": "on", "unflushed": "off"} {
		b.Run(name, func(b *testing.B) {
			f, bare := newBenchmark(b, flush)
			run(b, f, bare)
		})
	}
}

func benchmarkRequest(b *testing.B, f *fixture, bare *gorm.DB) {
	payload := bytes.Repeat([]byte("x"), 300)
	captured := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tx, _ := f.store.FromContext(r.Context())
		err := tx.Create(&order{ID: uuid.NewString()}).Error
		if err == nil {
			err = tx.Enqueue(r.Context(), &outbox.Message{
				Topic: "orders", Key: "customer-1", Type: "order.placed", ContentType: "application/json", Payload: payload,
			})
		}
		answer(w, err)
	})
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, bare.WithContext(r.Context()).Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(&order{ID: uuid.NewString()}).Error; err != nil {
				return err
			}
			return tx.Create(&plainRow{
				ID: uuid.Must(uuid.NewV7()), Topic: "orders", Key: "customer-1", Type: "order.placed",
				ContentType: "application/json", Payload: payload,
			}).Error
		}))
	})
	transaction := middleware.Transaction(f.store, middleware.TransactionConfig{})(captured)
	once := middleware.Idempotency(f.store, middleware.IdempotencyConfig{})(transaction)
	// In pairs: of three, two would share a connection, which a busy machine then serves later than the rested one.
	b.Run("middleware", func(b *testing.B) {
		inTurns(b, "captured", func() { request(b, transaction, "") }, func() { request(b, plain, "") })
	})
	b.Run("with_a_key", func(b *testing.B) {
		inTurns(b, "captured", func() { request(b, once, uuid.NewString()) }, func() { request(b, plain, "") })
	})
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func request(b *testing.B, h http.Handler, key string) {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/orders", nil)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusCreated {
		b.Fatalf("answered %d %s", w.Code, w.Body)
	}
}

// BenchmarkCaptureHook measures a transaction that captures nothing, on the handle with the hook against a bare one.
func BenchmarkCaptureHook(b *testing.B) {
	onFlushes(b, benchmarkHook)
}

func benchmarkHook(b *testing.B, f *fixture, bare *gorm.DB) {
	write := func(db *gorm.DB) func() {
		return func() {
			err := db.Transaction(func(tx *gorm.DB) error { return tx.Create(&order{ID: uuid.NewString()}).Error })
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	inTurns(b, "hook", write(f.db), write(bare))
}
