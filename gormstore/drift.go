package gormstore

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// Drift is one difference between the outbox tables and what this package's migrations make.
type Drift struct {
	// Object is what differs, by its name without prefix, such as "column messages.key".
	Object string
	// Want and Found are its forms; empty means that there is none.
	Want, Found string
	// Breaks says that statements may fail, or messages be lost or reordered. Otherwise it only costs time.
	Breaks bool
}

func (d Drift) String() string {
	switch {
	case d.Found == "":
		return fmt.Sprintf("%s is missing: want %s", d.Object, d.Want)
	case d.Want == "":
		return fmt.Sprintf("%s is not ours: %s", d.Object, d.Found)
	}
	return fmt.Sprintf("%s is %s: want %s", d.Object, d.Found, d.Want)
}

// SchemaReport is what [CheckSchema] found.
type SchemaReport struct {
	Version int // of the tables
	Want    int // by this package
	Lanes   int
	Drift   []Drift // what breaks comes first
}

// String is one line for the version, and one for each difference.
func (r SchemaReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d of %d, %d lanes, %d differences", r.Version, r.Want, r.Lanes, len(r.Drift))
	for _, d := range r.Drift {
		weight := "slows"
		if d.Breaks {
			weight = "breaks"
		}
		fmt.Fprintf(&b, "\n%s: %s", weight, d)
	}
	return b.String()
}

// Err returns a [*SchemaError] of what breaks, or nil.
func (r SchemaReport) Err() error {
	broken := slices.DeleteFunc(slices.Clone(r.Drift), func(d Drift) bool { return !d.Breaks })
	if len(broken) == 0 {
		return nil
	}
	return &SchemaError{Drift: broken}
}

// SchemaError refuses to work on tables that somebody changed. It is an [ErrSchema].
type SchemaError struct{ Drift []Drift }

func (e *SchemaError) Error() string {
	texts := make([]string, len(e.Drift))
	for i, d := range e.Drift {
		texts[i] = d.String()
	}
	return fmt.Sprintf("outbox tables were changed, change them back: %s", strings.Join(texts, "; "))
}

// Unwrap returns ErrSchema.
func (e *SchemaError) Unwrap() error { return ErrSchema }

// CheckSchema compares the outbox tables with what [Migrate] makes: tables, columns, indexes with their conditions, the
// settings of storage and autovacuum, and what is there besides. Every store does the same at its first use, refuses
// what breaks, and logs the rest. Its error is [ErrSchema] for tables that are missing or of another version, which are
// not compared. Those of other databases are compared by version alone.
func CheckSchema(ctx context.Context, db *gorm.DB, config MigrateConfig) (SchemaReport, error) {
	n, err := newNames(db, config.Schema, config.Name)
	if err != nil {
		return SchemaReport{}, err
	}
	d, err := newDialect(db, n)
	if err != nil {
		return SchemaReport{}, err
	}
	pool, err := db.DB()
	if err != nil {
		return SchemaReport{}, fmt.Errorf("check the outbox tables: %w", err)
	}
	_, report, err := inspectSchema(ctx, d, pool)
	return report, err
}

// inspectSchema reads what the migration recorded, and compares.
func inspectSchema(ctx context.Context, d dialect, q querier) (meta, SchemaReport, error) {
	m, err := d.meta(ctx, q)
	if err != nil {
		return m, SchemaReport{}, fmt.Errorf("check the outbox tables: %w", err)
	}
	report := SchemaReport{Version: m.version, Want: schemaVersion, Lanes: m.lanes}
	if err := m.check(); err != nil {
		return m, report, err
	}
	c, ok := d.(cataloger)
	if !ok {
		return m, report, nil
	}
	found, err := c.catalog(ctx, q)
	if err != nil {
		return m, report, fmt.Errorf("check the outbox tables: %w", err)
	}
	want, err := wantCatalog(d)
	report.Drift = compare(want, found)
	return m, report, err
}

// cataloger is a dialect that describes its tables.
type cataloger interface {
	catalog(ctx context.Context, q querier) ([]line, error)
}

// tables are what a catalog describes.
var tables = []string{
	"messages", "lanes", "sessions", "claims", "blocks", "pauses", "audit", "archive", "meta", "idempotency", "inbox",
}

// line describes one thing that migrations make.
type line struct{ kind, name, form string }

func (l line) object() string { return l.kind + " " + l.name }

// wantCatalog is what all migrations make, as a test wrote it down.
func wantCatalog(d dialect) ([]line, error) {
	text, err := migrations.ReadFile(path.Join("migrations", d.name()+".txt"))
	if err != nil {
		return nil, err
	}
	var lines []line
	for row := range strings.Lines(string(text)) {
		object, form, _ := strings.Cut(strings.TrimSuffix(row, "\n"), ": ")
		kind, name, _ := strings.Cut(object, " ")
		lines = append(lines, line{kind, name, form})
	}
	return lines, nil
}

// compare returns the differences, what breaks first.
func compare(want, found []line) (drift []Drift) {
	have := make(map[string]line, len(found))
	for _, l := range found {
		have[l.object()] = l
	}
	for _, l := range want {
		got := have[l.object()]
		if got.form != l.form {
			drift = append(drift, Drift{l.object(), l.form, got.form, breaks(l, got)})
		}
		delete(have, l.object())
	}
	for _, l := range have {
		drift = append(drift, Drift{l.object(), "", l.form, breaks(line{}, l)})
	}
	slices.SortFunc(drift, func(a, b Drift) int {
		if a.Breaks != b.Breaks {
			return map[bool]int{true: -1, false: 1}[a.Breaks]
		}
		return cmp.Compare(a.Object, b.Object)
	})
	return drift
}

// breaks weighs a difference; an index that is missing or not yet built only slows, unless it keeps ids unique.
func breaks(want, got line) bool {
	switch want.kind {
	case "table", "column", "numbers":
		return true
	case "index":
		slow := got.form == "" || got.form == want.form+" INVALID"
		return !slow || strings.HasPrefix(want.form, "UNIQUE")
	case "":
		return got.kind == "column" && strings.HasSuffix(got.form, " NOT NULL") // no insert of ours fills it
	}
	return false
}
