package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/postroom/postroom/gormstore"
)

// schema compares the tables with what Migrate makes.
func (e *examination) schema(ctx context.Context) ([]Finding, error) {
	report, err := gormstore.CheckSchema(ctx, e.DB, gormstore.MigrateConfig{Name: e.Name, Schema: e.Schema})
	if errors.Is(err, gormstore.ErrSchema) {
		e.missing = true
		return []Finding{{Severity: Critical, Subject: "tables", Text: err.Error(), Fix: "run postroom migrate"}}, nil
	}
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, d := range report.Drift {
		f := Finding{Severity: Warning, Subject: d.Object, Text: d.String(), Fix: e.mend(d)}
		if d.Breaks {
			f.Severity = Critical
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// mend says how to undo a difference.
func (e *examination) mend(d gormstore.Drift) string {
	kind, name, _ := strings.Cut(d.Object, " ")
	switch {
	case kind == "index" && d.Found == "":
		return e.createIndex(name, d.Want)
	case kind == "index" && strings.HasSuffix(d.Found, " INVALID"):
		return fmt.Sprintf("DROP INDEX CONCURRENTLY %s; %s", e.table(name), e.createIndex(name, d.Want))
	case d.Want == "":
		return "drop it, unless you know that it costs little: relays and applications pay for it"
	}
	return "change it back to " + d.Want
}

// createIndex writes the statement that makes an index of the form in which the catalog is described.
func (e *examination) createIndex(name, form string) string {
	create := "CREATE INDEX CONCURRENTLY "
	if unique, ok := strings.CutPrefix(form, "UNIQUE "); ok {
		create, form = "CREATE UNIQUE INDEX CONCURRENTLY ", unique
	}
	table, rest, _ := strings.Cut(form, " ")
	return fmt.Sprintf("%s%s ON %s %s", create, pgx.Identifier{e.Name + "_" + name}.Sanitize(), e.table(table), rest)
}

// table is the quoted name of one of our tables, or of an index.
func (e *examination) table(suffix string) string {
	var parts []string
	if e.Schema != "" {
		parts = append(parts, e.Schema)
	}
	parts = append(parts, e.Name+"_"+suffix)
	if e.dialect == onMySQL {
		for i, part := range parts {
			parts[i] = "`" + strings.ReplaceAll(part, "`", "``") + "`"
		}
		return strings.Join(parts, ".")
	}
	return pgx.Identifier(parts).Sanitize()
}

// smallTable is up to how many bytes it does no harm to read all of a table.
const smallTable = 8 << 20

// plan asks how a claim would find its messages.
func (e *examination) plan(ctx context.Context) ([]Finding, error) {
	plan, err := e.Store.ClaimPlan(ctx)
	if err != nil || !plan.WholeTable || plan.Bytes <= smallTable {
		return nil, err
	}
	return []Finding{{
		Severity: Critical, Subject: e.table("messages"),
		Text: fmt.Sprintf("each claim reads the whole table of %s", size(plan.Bytes)),
		Fix: "make the index that check schema misses, if it does; then ANALYZE " + e.table("messages") +
			", and restart the relays so that they plan anew",
	}}, nil
}
