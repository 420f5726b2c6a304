package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// million is what is stored while BenchmarkPages asks for pages. A thousand of these are parked.
const million = 1_000_000

// BenchmarkPages measures pages over a million stored messages of 50 000 keys on PostgreSQL.
func BenchmarkPages(b *testing.B) {
	db, store := openStore(b)
	fill(b, store)
	park := `UPDATE outbox_messages SET state = 3, attempts = 10, failures = 10, last_class = 'unroutable',
		last_error = 'no queue is bound: ' || seq, available_at = NULL WHERE seq % 1000 = 0`
	if err := db.Exec(park).Error; err != nil {
		b.Fatal(err)
	}
	blocks := `INSERT INTO outbox_blocks (lane, key, seq)
		SELECT lane, key, min(seq) FROM outbox_messages WHERE state = 3 GROUP BY lane, key`
	if err := db.Exec(blocks).Error; err != nil {
		b.Fatal(err)
	}
	if err := db.Exec("ANALYZE outbox_messages, outbox_blocks").Error; err != nil {
		b.Fatal(err)
	}
	var first, last int64
	if err := db.Raw("SELECT min(seq), max(seq) FROM outbox_messages").Row().Scan(&first, &last); err != nil {
		b.Fatal(err)
	}
	d := newDashboard(b, store, func(c *dashboard.Config) { c.Timeout = time.Minute }) // or there is nothing to measure
	at := func(part float64) string { return strconv.FormatInt(first+int64(part*float64(last-first)), 10) }
	for name, path := range map[string]string{
		"first":        "/messages",
		"middle":       "/messages?after=" + at(0.5),
		"last":         "/messages?after=" + strconv.FormatInt(last-pageLength, 10),
		"topic_middle": "/messages?topic=payments&after=" + at(0.5),
		"key":          "/messages?key=customer-4711",
		"parked":       "/messages?status=parked",
		"held_middle":  "/messages?status=held&after=" + at(0.5),
		"held_keys":    "/held",
		"failures":     "/failures",
		"overview":     "/",
		"preview":      "/act?deed=requeue&status=parked",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				answer := httptest.NewRecorder()
				request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/outbox"+path, nil)
				d.ServeHTTP(answer, request)
				if answer.Code != http.StatusOK {
					b.Fatalf("%s: %d", path, answer.Code)
				}
			}
		})
	}
}

const pageLength = 25

func fill(b *testing.B, store *gormstore.Store) {
	b.Helper()
	const batch = 5000
	topics := []string{"orders", "payments", "shipping", "invoices"}
	for n := 0; n < million; n += batch {
		messages := make([]*outbox.Message, batch)
		for i := range messages {
			messages[i] = &outbox.Message{
				Topic: topics[(n+i)%len(topics)], Key: fmt.Sprint("customer-", (n+i)%50_000), Type: "OrderPlaced",
				Payload: fmt.Appendf(nil, `{"order_id":"o-%d","note":"%0200d"}`, n+i, n),
			}
		}
		if err := store.Transaction(b.Context(), func(tx *gormstore.Tx) error {
			return tx.Enqueue(b.Context(), messages...)
		}); err != nil {
			b.Fatal(err)
		}
	}
}
