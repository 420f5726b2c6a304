package gormstore

import (
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	gormschema "gorm.io/gorm/schema"
)

// capturedRows is where a statement keeps the rows that it is about to change.
const capturedRows = "postroom:captured_rows"

// readCaptured reads and locks the rows that an update or a delete will change, by the statement's own conditions.
func (h *hook) readCaptured(db *gorm.DB, kind rowChange) error {
	c, err := h.captureOf(db, kind)
	if c == nil || err != nil {
		return err
	}
	s := db.Statement
	for _, name := range []string{"LIMIT", "ORDER BY", "FROM"} {
		if _, ok := s.Clauses[name]; ok {
			return c.refuse("%s hides which rows it changes: select them by conditions", name)
		}
	}
	if len(s.Joins) > 0 {
		return c.refuse("a join hides which rows it changes: select them by conditions")
	}
	conditions := c.conditions(db)
	if len(conditions) == 0 && !db.AllowGlobalUpdate {
		return nil // GORM refuses it
	}
	query := c.query(db).Clauses(clause.Where{Exprs: conditions}).Limit(MaxCaptured + 1)
	if s.Unscoped {
		query = query.Unscoped()
	}
	if db.Name() != "sqlite" { // where one writes at a time
		query = query.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}
	rows := c.rows()
	if err := query.Find(rows.Interface()).Error; err != nil {
		return err
	}
	if rows.Elem().Len() > MaxCaptured {
		return c.refuse("it changes more than %d rows: do it in parts", MaxCaptured)
	}
	s.Settings.Store(capturedRows, rows)
	return nil
}

// conditions are what GORM will put behind WHERE, soft deletion aside: the statement's own, and the keys of its models.
func (c *capture) conditions(db *gorm.DB) []clause.Expression {
	s := db.Statement
	var all []clause.Expression
	if where, ok := s.Clauses["WHERE"].Expression.(clause.Where); ok && len(where.Exprs) > 0 {
		all = append(all, clause.And(where.Exprs...))
	}
	all = append(all, c.keys(db, s.ReflectValue)...)
	if model := reflect.ValueOf(s.Model); s.Model != nil && s.Model != s.Dest {
		all = append(all, c.keys(db, model)...)
	}
	return all
}

// keys is the condition that a row is one of models, or nothing if they have no keys.
func (c *capture) keys(db *gorm.DB, models reflect.Value) []clause.Expression {
	models = reflect.Indirect(models)
	if kind := models.Kind(); kind != reflect.Struct && kind != reflect.Slice && kind != reflect.Array {
		return nil
	}
	_, values := gormschema.GetIdentityFieldValuesMap(db.Statement.Context, models, c.schema.PrimaryFields)
	column, keys := gormschema.ToQueryValues(c.schema.Table, c.schema.PrimaryFieldDBNames, values)
	if len(keys) == 0 {
		return nil
	}
	return []clause.Expression{clause.IN{Column: column, Values: keys}}
}

// query reads rows of the table in the order of their keys, beside the statement and in its transaction.
func (c *capture) query(db *gorm.DB) *gorm.DB {
	query := db.Session(&gorm.Session{NewDB: true, SkipHooks: true}).Model(reflect.New(c.schema.ModelType).Interface())
	for _, name := range c.schema.PrimaryFieldDBNames {
		query = query.Order(clause.OrderByColumn{Column: clause.Column{Table: clause.CurrentTable, Name: name}})
	}
	return query
}

// rows returns a pointer to an empty list of rows.
func (c *capture) rows() reflect.Value { return reflect.New(reflect.SliceOf(c.schema.ModelType)) }

func (h *hook) captureUpdated(db *gorm.DB) error {
	c, before, err := h.rowsRead(db, updated)
	if err != nil || before.Len() == 0 || db.RowsAffected == 0 {
		return err
	}
	after := c.rows()
	query := c.query(db).Unscoped().Clauses(clause.Where{Exprs: c.keys(db, before)})
	if err := query.Find(after.Interface()).Error; err != nil {
		return err
	}
	if after.Elem().Len() != before.Len() {
		return c.refuse("it changes keys: delete and create instead")
	}
	rows := pointers(after.Elem())
	if db.RowsAffected < int64(len(rows)) { // MySQL counts those alone that have changed
		rows = differing(before, after.Elem())
	}
	if err := c.sameNumber(db, len(rows)); err != nil {
		return err
	}
	return c.enqueue(db, updated, rows)
}

func (h *hook) captureDeleted(db *gorm.DB) error {
	c, rows, err := h.rowsRead(db, deleted)
	if err != nil || rows.Len() == 0 {
		return err
	}
	if err := c.sameNumber(db, rows.Len()); err != nil {
		return err
	}
	return c.enqueue(db, deleted, pointers(rows))
}

// sameNumber refuses a statement that has changed other rows than those that were read before it.
func (c *capture) sameNumber(db *gorm.DB, rows int) error {
	if int64(rows) != db.RowsAffected {
		return c.refuse("it changed %d rows where %d were expected: try again", db.RowsAffected, rows)
	}
	return nil
}

// rowsRead returns the rows that were read before the statement.
func (h *hook) rowsRead(db *gorm.DB, kind rowChange) (*capture, reflect.Value, error) {
	none := reflect.ValueOf([]any(nil))
	c, err := h.captureOf(db, kind)
	if c == nil || err != nil {
		return nil, none, err
	}
	read, ok := db.Statement.Settings.LoadAndDelete(capturedRows)
	if !ok {
		return c, none, nil
	}
	rows := read.(reflect.Value).Elem() //nolint:errcheck // nothing else is stored
	if rows.Len() == 0 && db.RowsAffected > 0 {
		return nil, none, c.sameNumber(db, 0)
	}
	return c, rows, nil
}

// differing returns pointers to the rows of after that are not as in before, which has the same keys in the same order.
func differing(before, after reflect.Value) []any {
	var rows []any
	for i := range after.Len() {
		if !reflect.DeepEqual(before.Index(i).Interface(), after.Index(i).Interface()) {
			rows = append(rows, after.Index(i).Addr().Interface())
		}
	}
	return rows
}

func pointers(rows reflect.Value) []any {
	list := make([]any, rows.Len())
	for i := range list {
		list[i] = rows.Index(i).Addr().Interface()
	}
	return list
}
