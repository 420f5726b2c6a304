package gormstore

import (
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/postroom/postroom/outbox"
)

var raiserType = reflect.TypeFor[raiser]()

// checkRaised finds out before the statement what would keep its events from being stored after it.
func (h *hook) checkRaised(db *gorm.DB) error {
	raised := h.raisedBy(db)
	if len(raised) == 0 {
		return nil
	}
	t, err := openTx(db)
	if err != nil {
		return err
	}
	for _, r := range raised {
		events, err := r.waiting(t)
		if err != nil {
			return err
		}
		for _, e := range events {
			if _, err := h.registrar(e.event); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeRaised stores the events of the models that the statement has written.
func (h *hook) storeRaised(db *gorm.DB) error {
	raised := h.raisedBy(db)
	if len(raised) == 0 || db.RowsAffected == 0 {
		return nil
	}
	t, err := openTx(db) // an event may have been raised since the check, by a model hook
	if err != nil {
		return err
	}
	if leftOut(db) {
		return ErrPartialRows
	}
	return h.storeWaiting(db, t, raised)
}

// storeWaiting enqueues what t has not stored, in one call for each outbox, and notes that it is.
func (h *hook) storeWaiting(db *gorm.DB, t *hookTx, raised []*raisedEvents) error {
	var all []*raisedEvent
	waiting := make([][]*raisedEvent, len(raised))
	for i, r := range raised {
		events, err := r.waiting(t)
		if err != nil {
			return err
		}
		waiting[i], all = events, append(all, events...)
	}
	if err := h.enqueueEvents(db, all); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range raised {
		t.journal.stored(t, r, waiting[i])
	}
	return nil
}

func (h *hook) enqueueEvents(db *gorm.DB, events []*raisedEvent) error {
	messages := make([]*outbox.Message, len(events))
	byStore := map[*Store][]*outbox.Message{}
	var stores []*Store
	for i, e := range events {
		s, err := h.registrar(e.event)
		if err != nil {
			return err
		}
		m, err := s.config.Registry.Message(e.event)
		if err != nil {
			return err
		}
		m.ID = e.id
		if byStore[s] == nil {
			stores = append(stores, s)
		}
		messages[i], byStore[s] = m, append(byStore[s], m)
	}
	for _, s := range stores {
		if err := s.enqueueBeside(db, byStore[s]...); err != nil {
			return err
		}
	}
	for i, e := range events {
		e.id = messages[i].ID
	}
	return nil
}

// enqueueBeside stores messages in the transaction of a statement, without the rest of what is set up for it.
func (s *Store) enqueueBeside(db *gorm.DB, messages ...*outbox.Message) error {
	return s.In(db.Session(&gorm.Session{NewDB: true})).Enqueue(db.Statement.Context, messages...)
}

// registrar returns the first store on this handle that knows the event.
func (h *hook) registrar(event any) (*Store, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var first error
	for _, s := range h.opened {
		_, err := s.config.Registry.Describe(event)
		if err == nil {
			return s, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// openTx returns the transaction that a statement is part of, GORM's default one included.
func openTx(db *gorm.DB) (*hookTx, error) {
	t, ok := hooked(db.Statement.ConnPool)
	if ok {
		return t, nil
	}
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
		return nil, ErrNoHook
	}
	return nil, outbox.ErrNoTransaction
}

// raisedBy returns the events of a statement's models, those of a changed struct beside its model too.
func (h *hook) raisedBy(db *gorm.DB) []*raisedEvents {
	s := db.Statement
	if s.Schema == nil || !h.raises(s.Schema.ModelType) {
		return nil
	}
	var raised []*raisedEvents
	seen := map[*raisedEvents]bool{nil: true}
	for _, v := range []reflect.Value{s.ReflectValue, reflect.ValueOf(s.Dest)} {
		eachModel(v, func(model any) {
			if r, ok := model.(raiser); ok && !seen[r.raisedEvents()] {
				seen[r.raisedEvents()] = true
				if len(r.raisedEvents().all()) > 0 {
					raised = append(raised, r.raisedEvents())
				}
			}
		})
	}
	return raised
}

func (h *hook) raises(model reflect.Type) bool {
	known, ok := h.raisers.Load(model)
	if !ok {
		known, _ = h.raisers.LoadOrStore(model, reflect.PointerTo(model).Implements(raiserType))
	}
	return known == true
}

// eachModel calls fn with a pointer to each struct in v, which is one, a list of them, or a pointer to either.
func eachModel(v reflect.Value, fn func(model any)) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			eachModel(v.Index(i), fn)
		}
	case reflect.Struct:
		if !v.CanAddr() {
			copied := reflect.New(v.Type())
			copied.Elem().Set(v)
			v = copied.Elem()
		}
		fn(v.Addr().Interface())
	}
}

// conflictClause is where a create keeps its ON CONFLICT, which GORM and MySQL rewrite on the way.
const conflictClause = "postroom:conflict"

func keepConflict(db *gorm.DB) {
	if conflict, ok := db.Statement.Clauses["ON CONFLICT"].Expression.(clause.OnConflict); ok {
		db.Statement.Settings.Store(conflictClause, conflict)
	}
}

// conflictOf returns what a create was told to do with rows that are there already.
func conflictOf(db *gorm.DB) (clause.OnConflict, bool) {
	kept, _ := db.Statement.Settings.Load(conflictClause)
	conflict, ok := kept.(clause.OnConflict)
	return conflict, ok
}

// leftOut reports whether the statement may have skipped some of its models. With DO NOTHING, GORM counts rows with a
// key as written that were not, and MySQL updates them to what they are.
func leftOut(db *gorm.DB) bool {
	v, n := db.Statement.ReflectValue, 1
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		n = v.Len()
	}
	conflict, _ := conflictOf(db)
	return db.RowsAffected < int64(n) || conflict.DoNothing && (n > 1 || db.Name() == mysqlName)
}
