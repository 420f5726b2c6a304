package gormstore

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	gormschema "gorm.io/gorm/schema"

	"github.com/postroom/postroom/outbox"
)

// MaxCaptured bounds the rows of one update or delete that is captured.
const MaxCaptured = 10_000

// CaptureConfig says which messages the changes of a plain model make. A function that is nil captures nothing, and
// one that returns a nil message leaves that row out. Each is called once for each row, inside the transaction.
type CaptureConfig[T any] struct {
	// Created gets a row that was inserted, as it is in memory.
	Created func(ctx context.Context, row *T) (*outbox.Message, error)
	// Updated gets a row as the database has it after an update.
	Updated func(ctx context.Context, row *T) (*outbox.Message, error)
	// Deleted gets a row as the database had it before it was deleted, for good or softly.
	Deleted func(ctx context.Context, row *T) (*outbox.Message, error)
	// Upserted gets a row of an insert that updates on conflict, for which the database does not say which it was.
	// Defaults to refusing such statements when Created or Updated is set.
	Upserted func(ctx context.Context, row *T) (*outbox.Message, error)
}

// CaptureError refuses a statement on a captured table whose rows cannot be told. It fails the statement, and with it
// GORM's default transaction; in a transaction of your own, return it.
type CaptureError struct {
	Table  string
	Reason string // and what to do
}

func (e *CaptureError) Error() string {
	return fmt.Sprintf("gormstore: cannot capture a statement on %s: %s", e.Table, e.Reason)
}

// Capture makes each create, update and delete of T through the store's GORM handle store the messages that config
// makes of its rows, in the same transaction: one for each row that is affected, with its real key, or the statement
// is refused with a [*CaptureError] that says why. Call it once for each model, before the handle is used.
//
// Rows to update or delete are read first, locked where the database locks rows, and updated ones again afterwards: two
// statements more for an update, one for a delete, of at most [MaxCaptured] rows. So bulk statements and gorm.G work,
// and models need no hook methods; SkipHooks does not skip it. What goes past the model is not seen: Exec and Raw,
// cascades, triggers. A statement that writes T to another table than its own is refused. A Save that finds no row to
// update counts as a create.
//
// Outside a transaction, with GORM's default one turned off, statements fail with outbox.ErrNoTransaction.
func Capture[T any](s *Store, config CaptureConfig[T]) error {
	statement := &gorm.Statement{DB: s.db}
	if err := statement.Parse(new(T)); err != nil {
		return fmt.Errorf("capture %v: %w", reflect.TypeFor[T](), err)
	}
	c := &capture{
		store: s, schema: statement.Schema, table: tableOf(statement), name: statement.Table,
		messages: map[rowChange]mapper{},
	}
	for kind, fn := range map[rowChange]func(context.Context, *T) (*outbox.Message, error){
		created: config.Created, updated: config.Updated, deleted: config.Deleted, upserted: config.Upserted,
	} {
		if fn != nil {
			c.messages[kind] = func(ctx context.Context, row any) (*outbox.Message, error) {
				return fn(ctx, row.(*T)) //nolint:errcheck // the model's type was checked
			}
		}
	}
	h, ok := s.db.ConnPool.(*hook)
	if !ok {
		return ErrNoHook
	}
	if _, twice := h.captures.LoadOrStore(c.table, c); twice {
		return c.refuse("it is captured already: capture each table once")
	}
	return nil
}

type rowChange int

const (
	created rowChange = iota
	updated
	deleted
	upserted
)

// mapper makes the message of a row, given as a pointer.
type mapper func(ctx context.Context, row any) (*outbox.Message, error)

// capture is what [Capture] was told about a table.
type capture struct {
	store       *Store
	schema      *gormschema.Schema
	table, name string // quoted, with its schema if the model names one; and without all that
	messages    map[rowChange]mapper
}

func (c *capture) refuse(format string, args ...any) error {
	return &CaptureError{c.schema.Table, fmt.Sprintf(format, args...)}
}

// captureOf returns what captures a change of the statement's table, or nil.
func (h *hook) captureOf(db *gorm.DB, kinds ...rowChange) (*capture, error) {
	c, refusal := h.captured(db.Statement)
	if c == nil || !c.wants(kinds) {
		return nil, nil //nolint:nilnil // nothing to capture is no error
	}
	if refusal != "" {
		return nil, c.refuse("%s", refusal)
	}
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); !ok {
		return nil, outbox.ErrNoTransaction
	}
	return c, nil
}

// captured returns what captures the statement's table or its model, and why the statement is refused if only one of
// them is.
func (h *hook) captured(s *gorm.Statement) (found *capture, refusal string) {
	h.captures.Range(func(table, known any) bool {
		c := known.(*capture) //nolint:errcheck // nothing else is stored
		model := s.Schema != nil && s.Schema.ModelType == c.schema.ModelType
		same := table == tableOf(s)
		switch {
		case same && model:
			found, refusal = c, ""
		case same, s.Schema == nil && s.Table == c.name:
			found, refusal = c, fmt.Sprintf("it goes past the model: use %v", c.schema.ModelType)
		case model:
			found, refusal = c, fmt.Sprintf("it names the table in another way than %v does: leave Table out, "+
				"or use a type of its own for another table", c.schema.ModelType)
		}
		return !same
	})
	return found, refusal
}

// tableOf is the statement's table as GORM writes it.
func tableOf(s *gorm.Statement) string {
	if s.TableExpr != nil {
		return s.TableExpr.SQL
	}
	return s.Quote(s.Table)
}

func (c *capture) wants(kinds []rowChange) bool {
	return slices.ContainsFunc(kinds, func(kind rowChange) bool { return c.messages[kind] != nil })
}

// checkCaptured refuses inserts whose rows could not be told afterwards.
func (h *hook) checkCaptured(db *gorm.DB) error {
	c, err := h.captureOf(db, created, upserted, updated)
	if c == nil || err != nil {
		return err
	}
	switch db.Statement.ReflectValue.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array:
	default:
		return c.refuse("its row is a %v: give a struct", db.Statement.ReflectValue.Kind())
	}
	if insertKind(db) == upserted && c.messages[upserted] == nil {
		return c.refuse("an insert that updates on conflict does not tell which it did: set Upserted")
	}
	return nil
}

// insertKind tells an upsert from an insert, and from the insert of a Save that has found nothing to update.
func insertKind(db *gorm.DB) rowChange {
	conflict, ok := conflictOf(db)
	if !ok || !conflict.UpdateAll && len(conflict.DoUpdates) == 0 {
		return created
	}
	if db.Statement.SkipHooks && conflict.UpdateAll && db.Statement.ReflectValue.Kind() == reflect.Struct {
		return created // Save of one model turns hooks off for this
	}
	return upserted
}

func (h *hook) captureCreated(db *gorm.DB) error {
	kind := insertKind(db)
	c, err := h.captureOf(db, kind)
	if c == nil || err != nil || db.RowsAffected == 0 {
		return err
	}
	if leftOut(db) {
		return ErrPartialRows
	}
	var rows []any
	eachModel(db.Statement.ReflectValue, func(model any) { rows = append(rows, model) })
	for _, row := range rows {
		if !c.hasKey(db, row) {
			return c.refuse("the key of a new row is not known: let GORM fill it in, or set it")
		}
	}
	return c.enqueue(db, kind, rows)
}

func (c *capture) hasKey(db *gorm.DB, row any) bool {
	for _, field := range c.schema.PrimaryFields {
		if _, zero := field.ValueOf(db.Statement.Context, reflect.ValueOf(row).Elem()); !zero {
			return true
		}
	}
	return false
}

func (c *capture) enqueue(db *gorm.DB, kind rowChange, rows []any) error {
	var messages []*outbox.Message
	for _, row := range rows {
		m, err := c.messages[kind](db.Statement.Context, row)
		if err != nil {
			return fmt.Errorf("capture a row of %s: %w", c.schema.Table, err)
		}
		if m != nil {
			messages = append(messages, m)
		}
	}
	return c.store.enqueueBeside(db, messages...)
}
