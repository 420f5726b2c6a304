package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testoutput"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/verify"
)

// call runs the program and returns its exit code and what it printed.
func call(ctx context.Context, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(ctx, args, func(string) string { return "" }, &o, &e)
	return code, o.String(), e.String()
}

func file(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const (
	committedLine = `{"kind":"committed","id":"00000000-0000-0000-0000-000000000001","topic":"t","key":"k","order":1,` +
		`"at":"2026-03-01T10:00:00Z"}`
	deliveredLine = `{"kind":"delivered","id":"00000000-0000-0000-0000-000000000001","topic":"t","stream":"t/0",` +
		`"offset":0,"at":"2026-03-01T10:00:01Z"}`
)

func TestVerify_files(t *testing.T) {
	t.Run("exits_0_when_all_is_well", func(t *testing.T) {
		code, out, errs := call(t.Context(), "verify", file(t, committedLine), file(t, deliveredLine))
		if code != 0 || !strings.Contains(out, "OK: nothing lost") || errs != "" {
			t.Errorf("exit %d, printed %s, %s", code, out, errs)
		}
	})
	t.Run("exits_3_and_prints_what_it_found", func(t *testing.T) {
		code, out, errs := call(t.Context(), "verify", file(t, committedLine))
		if code != exitFinding || !strings.Contains(out, "lost: ") || errs != "" {
			t.Errorf("exit %d, printed %s, %s", code, out, errs)
		}
	})
	t.Run("prints_one_JSON_document", func(t *testing.T) {
		code, out, _ := call(t.Context(), "verify", "--json", file(t, committedLine))
		var got struct {
			OK bool
			verify.Report
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if code != exitFinding || got.OK || got.Lost.Total != 1 || len(got.Lost.Witnesses) != 1 {
			t.Errorf("exit %d, got %+v", code, got)
		}
	})
	t.Run("says_that_nothing_could_be_missed_where_nothing_was_committed", func(t *testing.T) {
		const note = "note: no message is known to be committed"
		if _, out, _ := call(t.Context(), "verify", file(t)); !strings.Contains(out, note) {
			t.Errorf("an empty history: printed %s", out)
		}
		if _, out, _ := call(t.Context(), "verify", file(t, committedLine)); strings.Contains(out, note) {
			t.Errorf("a history with a commit: printed %s", out)
		}
	})
	t.Run("exits_1_and_names_the_line_that_is_malformed", func(t *testing.T) {
		name := file(t, committedLine, "{")
		code, _, errs := call(t.Context(), "verify", name)
		if code != exitFailed || !strings.Contains(errs, name+": line 2: verify: malformed record") {
			t.Errorf("exit %d, printed %s", code, errs)
		}
	})
	t.Run("exits_2_when_called_wrongly", func(t *testing.T) {
		for _, args := range [][]string{
			{},
			{"--topic", "t"},
			{"--kafka", "localhost:1"},
			{"--kafka", "localhost:1", "--amqp", "amqp://h", "--topic", "t"},
			{"--amqp", "env", "--topic", "t"},
			{"--kafka", "localhost:1", "--topic", "t", "--since", "-1s"},
			{"--nonsense"},
			{"--kafka", "localhost:1", "--topic", "t"}, // and no database
		} {
			if code, _, errs := call(t.Context(), append([]string{"verify"}, args...)...); code != exitUsage || errs == "" {
				t.Errorf("%v: exit %d, printed %s", args, code, errs)
			}
		}
	})
}

// shop is an outbox in a schema of its own, with an archive.
type shop struct {
	*testing.T
	store  *gormstore.Store
	schema string
	topic  string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	t.Parallel()
	s := &shop{T: t, schema: testservices.Name("verify"), topic: testservices.Name("verify")}
	db, err := gorm.Open(postgres.Open(testservices.Postgres(t)), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.Exec(`DROP SCHEMA IF EXISTS "` + s.schema + `" CASCADE`)
		if pool, err := db.DB(); err == nil {
			_ = pool.Close()
		}
	})
	if err := gormstore.Migrate(t.Context(), db, gormstore.MigrateConfig{Schema: s.schema, Lanes: 8}); err != nil {
		t.Fatal(err)
	}
	s.store, err = gormstore.Open(db, gormstore.Config{Schema: s.schema, Archive: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// enqueue stores n messages of each key.
func (s *shop) enqueue(n int, keys ...string) {
	s.Helper()
	for range n {
		err := s.store.Transaction(s.Context(), func(tx *gormstore.Tx) error {
			for _, key := range keys {
				m := &outbox.Message{Topic: s.topic, Key: key, Type: "test.happened", Payload: []byte(key)}
				if err := tx.Enqueue(s.Context(), m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			s.Fatal(err)
		}
	}
}

// relay publishes until nothing is left but what is set aside or held.
func (s *shop) relay(p outbox.Publisher) {
	s.Helper()
	relay, err := outbox.NewRelay(s.store, p, outbox.RelayConfig{
		Policy: outbox.Policy{MaxAttempts: 1}, Poll: 50 * time.Millisecond,
	})
	if err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	}()
	eventually(s.T, "the outbox is empty", func() bool {
		b, err := s.store.Backlog(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, c := range b.Counts {
			switch c.Status {
			case outbox.StatusParked, outbox.StatusHeld, outbox.StatusSkipped:
			default:
				return false
			}
		}
		return true
	})
}

// verify judges the shop by what a broker has.
func (s *shop) verify(ctx context.Context, args ...string) (code int, r judged) {
	s.Helper()
	args = append([]string{
		"verify", "--json", "--database", testservices.Postgres(s), "--schema", s.schema, "--topic", s.topic,
	}, args...)
	code, out, errs := call(ctx, args...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		s.Fatalf("exit %d, printed %s, %s", code, out, errs)
	}
	return code, r
}

// watching runs the command while during happens, and then interrupts it.
func (s *shop) watching(during func(), args ...string) (code int, r judged) {
	s.Helper()
	ctx, interrupt := context.WithCancel(s.Context())
	defer interrupt()
	var out bytes.Buffer
	errs := &testoutput.Buffer{}
	args = append([]string{
		"verify", "--json", "--database", testservices.Postgres(s), "--schema", s.schema, "--topic", s.topic, "--for", "10m",
	}, args...)
	env := func(name string) string { return map[string]string{"AMQP_URL": testservices.AMQP(s)}[name] }
	done := make(chan struct{})
	go func() {
		defer close(done)
		code = run(ctx, args, env, &out, errs)
	}()
	eventually(s.T, "the watch begins", func() bool {
		select {
		case <-done:
			s.Fatalf("exit %d before the watch, printed %s", code, errs.String())
		default:
		}
		return strings.Contains(errs.String(), "watching")
	})
	during()
	interrupt()
	<-done
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		s.Fatalf("exit %d, printed %s, %s", code, out.String(), errs.String())
	}
	return code, r
}

// judged is what the command prints.
type judged struct {
	OK    bool
	Notes []string
	verify.Report
}

func (j judged) notes() string { return strings.Join(j.Notes, "\n") }

// unreliable breaks what it promises with some keys.
type unreliable struct {
	outbox.Publisher
	mu   sync.Mutex
	kept map[uuid.UUID]*outbox.Message // of key late, until the next of it
}

// Publish says that all is well: "lost" is not sent, "twice" is sent twice, and of "late" each first message comes
// behind its second. Messages of "poison" fail.
func (u *unreliable) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	u.mu.Lock()
	defer u.mu.Unlock()
	results := make([]outbox.Result, len(messages))
	for i, m := range messages {
		results[i] = outbox.Accepted
		switch m.Key {
		case "lost":
		case "twice":
			u.Publisher.Publish(ctx, []*outbox.Message{m})
			results[i] = u.Publisher.Publish(ctx, []*outbox.Message{m})[0]
		case "late":
			results[i] = u.swap(ctx, m)
		case "poison":
			results[i] = outbox.Failed(outbox.Permanent(os.ErrInvalid))
		default:
			results[i] = u.Publisher.Publish(ctx, []*outbox.Message{m})[0]
		}
	}
	return results
}

func (u *unreliable) swap(ctx context.Context, m *outbox.Message) outbox.Result {
	for id, first := range u.kept {
		delete(u.kept, id)
		u.Publisher.Publish(ctx, []*outbox.Message{m})
		return u.Publisher.Publish(ctx, []*outbox.Message{first})[0]
	}
	u.kept = map[uuid.UUID]*outbox.Message{m.ID: m}
	return outbox.Accepted
}

// expectFindings holds what was judged of two messages of each key through an unreliable publisher.
func (s *shop) expectFindings(code int, r judged) {
	s.Helper()
	if code != exitFinding || r.OK || r.Lost.Total != 2 || r.Reordered.Total != 1 || r.Duplicates != 2 ||
		r.Unexplained.Total != 2 || r.Uncommitted.Total != 0 || r.Misrouted.Total != 0 || r.Parked != 1 || r.Pending != 1 {
		s.Errorf("exit %d, got %+v", code, r)
	}
	for _, m := range r.Lost.Witnesses {
		if m.Key != "lost" {
			s.Errorf("lost %v", m)
		}
	}
}

var unreliableKeys = []string{"fine", "lost", "twice", "late", "poison", ""}
