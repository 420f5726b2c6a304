package e2e

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

// refusesOutsideTransaction tries every way to enqueue without one.
func refusesOutsideTransaction(t *testing.T, c combination) {
	a := newApp(t, c, newTopic)
	publisher := watermilladapter.NewPublisher(a.store, watermilladapter.PublisherConfig{})
	bus := eventBus(t, publisher, a.topic)
	bare := t.Context()
	m := a.message(t, "c-1", 1)
	for path, enqueue := range map[string]func() error{
		"Store.Enqueue":   func() error { return a.store.Enqueue(bare, m) },
		"In":              func() error { return a.store.In(a.db).Enqueue(bare, m) },
		"In with context": func() error { return a.store.In(a.db.WithContext(bare)).Enqueue(bare, m) },
		"NewPublisher":    func() error { return publisher.Publish(a.topic, watermillMessage(bare)) },
		"EventBus":        func() error { return bus.Publish(bare, body{"c-1", 1}) },
	} {
		if err := enqueue(); !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("%s returned %v, want ErrNoTransaction", path, err)
		}
	}
	if _, ok := a.store.FromContext(bare); ok {
		t.Error("FromContext found a transaction where there is none")
	}
	if rows := a.database.messages(t); len(rows) > 0 {
		t.Errorf("stored %v, want nothing", rows)
	}

	// The same bus stores inside a transaction.
	must(t, a.store.InTransaction(bare, func(ctx context.Context) error { return bus.Publish(ctx, body{"c-1", 1}) }))
	onlyRow(t, a.database)
}

func watermillMessage(ctx context.Context) *message.Message {
	return message.NewMessageWithContext(ctx, watermill.NewUUID(), nil)
}

func eventBus(t *testing.T, publisher message.Publisher, topic string) *cqrs.EventBus {
	t.Helper()
	bus, err := cqrs.NewEventBusWithConfig(publisher, cqrs.EventBusConfig{
		GeneratePublishTopic: func(cqrs.GenerateEventPublishTopicParams) (string, error) { return topic, nil },
		Marshaler:            cqrs.JSONMarshaler{},
	})
	must(t, err)
	return bus
}

// refusesBeforeSQL counts the statements of a transaction in which bad messages are refused and a good one is stored.
func refusesBeforeSQL(t *testing.T, c combination) {
	a := newApp(t, c, newTopic)
	consumer := a.broker.record(t, a.topic)
	db, statements := countedHandle(t, a.database)
	store, err := gormstore.Open(db, gormstore.Config{MaxPayload: 1 << 10})
	must(t, err)

	good := a.message(t, "c-1", 1)
	must(t, store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
		begun := statements.Load() // what begins a transaction
		for name, bad := range badMessages() {
			m := a.message(t, "c-1", 1)
			bad.change(m)
			checkFieldError(t, name, tx.Enqueue(t.Context(), a.message(t, "c-1", 1), m), bad.want)
		}
		refused := statements.Load()
		if refused != begun {
			t.Errorf("refusing bad messages took %d statements, want none", refused-begun)
		}
		err := tx.Enqueue(t.Context(), good)
		if statements.Load() == refused {
			t.Error("no statement was counted for the good message")
		}
		return err
	}))

	a.relay(t, outboxDefaults)
	if got := consumer.awaitIDs(t, 1); len(got) != 1 || got[0].id != good.ID.String() {
		t.Errorf("delivered %v, want message %s alone", got, good.ID)
	}
	a.database.awaitEmpty(t)
}

type badMessage struct {
	change func(m *outbox.Message)
	want   outbox.FieldError
}

func badMessages() map[string]badMessage {
	headerOf := func(value string) func(m *outbox.Message) {
		return func(m *outbox.Message) {
			m.Headers = []outbox.Header{{Name: "good", Value: "x"}, {Name: "bad", Value: value}}
		}
	}
	return map[string]badMessage{
		"empty topic": {
			func(m *outbox.Message) { m.Topic = "" },
			outbox.FieldError{Field: "Topic", Code: outbox.CodeMissing},
		},
		"oversized body": {
			func(m *outbox.Message) { m.Payload = make([]byte, 1<<10+1) },
			outbox.FieldError{Field: "Payload", Code: outbox.CodeTooLong, Limit: 1 << 10, Got: 1<<10 + 1},
		},
		"NUL in a header": {
			headerOf("a\x00b"),
			outbox.FieldError{Field: "Headers[1].Value", Code: outbox.CodeControl},
		},
		"invalid UTF-8 in a header": {
			headerOf("a\xffb"),
			outbox.FieldError{Field: "Headers[1].Value", Code: outbox.CodeNotUTF8},
		},
		"type of 300 bytes": {
			func(m *outbox.Message) { m.Type = strings.Repeat("x", 300) },
			outbox.FieldError{Field: "Type", Code: outbox.CodeTooLong, Limit: 255, Got: 300},
		},
	}
}

func checkFieldError(t *testing.T, name string, err error, want outbox.FieldError) {
	t.Helper()
	got, ok := errors.AsType[*outbox.FieldError](err)
	if !ok {
		t.Errorf("%s: got %v, want a FieldError", name, err)
		return
	}
	if diff := cmp.Diff(want, *got, cmpopts.IgnoreFields(outbox.FieldError{}, "Hint")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// countedHandle is a handle on whose transactions every statement is counted.
func countedHandle(t *testing.T, d *database) (*gorm.DB, *atomic.Int64) {
	t.Helper()
	db := open(t, d.dialector())
	pool, err := db.DB()
	must(t, err)
	counted := &countedPool{DB: pool}
	db.ConnPool, db.Statement.ConnPool = counted, counted
	return db, &counted.statements
}

type countedPool struct {
	*sql.DB
	statements atomic.Int64
}

func (p *countedPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }

func (p *countedPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := p.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &countedTx{Tx: tx, statements: &p.statements}, nil
}

type countedTx struct {
	*sql.Tx
	statements *atomic.Int64
}

func (tx *countedTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	tx.statements.Add(1)
	return tx.Tx.PrepareContext(ctx, query)
}

func (tx *countedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tx.statements.Add(1)
	return tx.Tx.ExecContext(ctx, query, args...)
}

func (tx *countedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	tx.statements.Add(1)
	return tx.Tx.QueryContext(ctx, query, args...)
}

func (tx *countedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	tx.statements.Add(1)
	return tx.Tx.QueryRowContext(ctx, query, args...)
}
