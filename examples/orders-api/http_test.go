package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

// newShop is the HTTP side of the shop on a SQLite file, without relay and consumer.
func newShop(t *testing.T) (string, *gorm.DB) {
	t.Helper()
	shop, s := newShopOn(t, "sqlite:"+filepath.Join(t.TempDir(), "orders.db"))
	return shop, s.db
}

// newShopOn returns its address, and the consumer on the same database.
func newShopOn(t *testing.T, url string) (string, shipping) {
	t.Helper()
	c := config{databaseURL: url, topic: "orders", api: true}
	db, err := openDatabase(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.close(); err != nil {
			t.Error(err)
		}
	})
	m, err := newMonitor()
	if err != nil {
		t.Fatal(err)
	}
	store, bus, err := openStore(db.DB, c.topic, m)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPages(store)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(newHandler(db.DB, store, bus, p, m.routes(store)))
	t.Cleanup(server.Close)
	return server.URL, shipping{db.DB, store}
}

// asJSON compares what is in answers.
var asJSON = cmpopts.IgnoreTypes(gormstore.Events{})

func wantRows(t *testing.T, db *gorm.DB, want map[string]int64) {
	t.Helper()
	got := map[string]int64{}
	for table := range want {
		var n int64
		if err := db.Table(table).Count(&n).Error; err != nil {
			t.Fatal(err)
		}
		got[table] = n
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func wantProblem(t *testing.T, status int, gotStatus int, body []byte, header http.Header) problem {
	t.Helper()
	p := decode[problem](t, body)
	if gotStatus != status || p.Status != status || header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d of type %q: %s, want a problem of %d", gotStatus, header.Get("Content-Type"), body, status)
	}
	return p
}

func TestPlaceOrder(t *testing.T) {
	t.Parallel()

	t.Run("stores_the_order_and_its_event_and_answers_201", func(t *testing.T) {
		t.Parallel()
		shop, db := newShop(t)
		status, body, header := send(t, http.MethodPost, shop+"/orders", anOrder)
		got := decode[map[string]any](t, body)
		id, err := uuid.Parse(got["id"].(string))
		if err != nil || id.Version() != 7 {
			t.Errorf("id %v is no UUIDv7: %v", got["id"], err)
		}
		want := map[string]any{"id": id.String(), "customer": "c-1", "total_cents": 3998.0, "status": "placed"}
		if diff := cmp.Diff(want, got); diff != "" || status != http.StatusCreated {
			t.Errorf("answered %d (-want +got):\n%s", status, diff)
		}
		if want := "/orders/" + id.String(); header.Get("Location") != want {
			t.Errorf("Location %q, want %q", header.Get("Location"), want)
		}
		wantRows(t, db, map[string]int64{"orders": 1, "items": 1, "outbox_messages": 1})
		var event struct{ Topic, Key, Type, Payload string }
		if err := db.Table("outbox_messages").Take(&event).Error; err != nil {
			t.Fatal(err)
		}
		payload := `{"order_id":"` + id.String() + `","customer":"c-1","total_cents":3998,` +
			`"items":[{"sku":"book","quantity":2,"unit_price_cents":1999}]}`
		if diff := cmp.Diff([]string{"orders", "c-1", "OrderPlaced", payload},
			[]string{event.Topic, event.Key, event.Type, event.Payload}); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	})

	t.Run("can_be_read_afterwards", func(t *testing.T) {
		t.Parallel()
		shop, _ := newShop(t)
		order := place(t, shop)
		status, body, _ := send(t, http.MethodGet, shop+"/orders/"+order.ID.String(), "")
		if got := decode[Order](t, body); status != http.StatusOK || cmp.Diff(order, got, asJSON) != "" {
			t.Errorf("got %d %+v, want %+v", status, got, order)
		}
	})

	t.Run("refuses_what_is_not_the_json_of_an_order", func(t *testing.T) {
		t.Parallel()
		shop, db := newShop(t)
		for _, body := range []string{
			"", "{", "null and more", `{"customer":1}`, `{"customer":"c","colour":"red"}`, anOrder + anOrder,
		} {
			status, answer, header := send(t, http.MethodPost, shop+"/orders", body)
			wantProblem(t, http.StatusBadRequest, status, answer, header)
		}
		wantRows(t, db, map[string]int64{"orders": 0, "outbox_messages": 0})
	})

	t.Run("refuses_an_order_that_cannot_be_and_says_where", func(t *testing.T) {
		t.Parallel()
		shop, db := newShop(t)
		item := `{"sku":"book","quantity":1,"unit_price_cents":1}`
		for _, c := range []struct{ body, where string }{
			{`{"items":[` + item + `]}`, "customer"},
			{`{"customer":"c\u0000","items":[` + item + `]}`, "customer"},
			{`{"customer":"` + strings.Repeat("c", 101) + `","items":[` + item + `]}`, "customer"},
			{`{"customer":"c"}`, "items"},
			{`{"customer":"c","items":[` + item + strings.Repeat(","+item, 100) + `]}`, "items"},
			{`{"customer":"c","items":[{"quantity":1,"unit_price_cents":1}]}`, "items[0]: sku"},
			{`{"customer":"c","items":[{"sku":"b","unit_price_cents":1}]}`, "items[0]: quantity"},
			{`{"customer":"c","items":[` + item + `,{"sku":"b","quantity":-1,"unit_price_cents":1}]}`, "items[1]: quantity"},
			{`{"customer":"c","items":[{"sku":"b","quantity":1,"unit_price_cents":-1}]}`, "items[0]: unit_price_cents"},
			{`{"customer":"c","items":[{"sku":"b","quantity":2,"unit_price_cents":4611686018427387904}]}`, "items[0]: the total"},
			{`{"customer":"c","items":[` + item + `,{"sku":"b","quantity":1,"unit_price_cents":9223372036854775807}]}`, "items[1]: the total"},
		} {
			status, answer, header := send(t, http.MethodPost, shop+"/orders", c.body)
			p := wantProblem(t, http.StatusUnprocessableEntity, status, answer, header)
			if !strings.HasPrefix(p.Detail, c.where) {
				t.Errorf("%s: detail %q, want it to begin with %q", c.body, p.Detail, c.where)
			}
		}
		wantRows(t, db, map[string]int64{"orders": 0, "outbox_messages": 0})
	})

	t.Run("takes_the_largest_total_and_a_free_item", func(t *testing.T) {
		t.Parallel()
		shop, _ := newShop(t)
		status, body, _ := send(t, http.MethodPost, shop+"/orders", `{"customer":"c","items":[
			{"sku":"a","quantity":1,"unit_price_cents":9223372036854775807},{"sku":"b","quantity":3,"unit_price_cents":0}]}`)
		if status != http.StatusCreated || decode[Order](t, body).TotalCents != 9223372036854775807 {
			t.Errorf("got %d %s", status, body)
		}
	})

	t.Run("refuses_a_body_that_is_too_large_whatever_is_in_it", func(t *testing.T) {
		t.Parallel()
		shop, db := newShop(t)
		for _, body := range []string{strings.Repeat("x", maxBody+1), anOrder + strings.Repeat(" ", maxBody)} {
			status, answer, header := send(t, http.MethodPost, shop+"/orders", body)
			wantProblem(t, http.StatusRequestEntityTooLarge, status, answer, header)
		}
		wantRows(t, db, map[string]int64{"orders": 0, "outbox_messages": 0})
	})

	t.Run("stores_no_order_when_its_event_cannot_be_stored", func(t *testing.T) {
		t.Parallel()
		shop, db := newShop(t)
		refuse := `CREATE TRIGGER refuse BEFORE INSERT ON outbox_messages BEGIN SELECT RAISE(ABORT, 'secret'); END`
		if err := db.Exec(refuse).Error; err != nil {
			t.Fatal(err)
		}
		status, body, header := send(t, http.MethodPost, shop+"/orders", anOrder)
		wantProblem(t, http.StatusInternalServerError, status, body, header)
		if strings.Contains(string(body), "secret") || header.Get("Location") != "" {
			t.Errorf("the client learns %s %v", body, header)
		}
		wantRows(t, db, map[string]int64{"orders": 0, "items": 0, "outbox_messages": 0})
	})
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	shop, _ := newShop(t)

	t.Run("answer_404_for_what_is_not_there", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{
			"/orders/" + uuid.NewString(), "/orders/1", "/shipments/" + uuid.NewString(), "/shipments/1", "/", "/orders",
		} {
			method := http.MethodGet
			status, body, header := send(t, method, shop+path, "")
			if path == "/orders" {
				wantProblem(t, http.StatusMethodNotAllowed, status, body, header)
				continue
			}
			wantProblem(t, http.StatusNotFound, status, body, header)
		}
	})

	t.Run("say_that_all_is_well", func(t *testing.T) {
		t.Parallel()
		if status, body, _ := send(t, http.MethodGet, shop+"/healthz", ""); status != http.StatusOK {
			t.Errorf("got %d %s", status, body)
		}
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	t.Run("is_503_when_the_database_does_not_answer", func(t *testing.T) {
		t.Parallel()
		shop, db := newShop(t)
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		status, body, header := send(t, http.MethodGet, shop+"/healthz", "")
		wantProblem(t, http.StatusServiceUnavailable, status, body, header)
	})
}

func TestRecoverer(t *testing.T) {
	t.Parallel()

	t.Run("answers_a_panic_with_a_problem", func(t *testing.T) {
		t.Parallel()
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		recoverer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })).ServeHTTP(w, r)
		wantProblem(t, http.StatusInternalServerError, w.Code, w.Body.Bytes(), w.Header())
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("the client learns %s", w.Body)
		}
	})

	t.Run("lets_an_abort_pass", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("recovered %v", err)
			}
		}()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		recoverer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })).
			ServeHTTP(httptest.NewRecorder(), r)
	})
}
