package doctor

import (
	"context"
	"fmt"
	"strings"
)

// manyDead is how many rows that are dead make a table slow: many times what vacuum waits for.
const manyDead = 100_000

// ours are the tables whose rows come and go.
var ours = []string{"messages", "claims", "blocks", "sessions", "lanes", "archive", "idempotency", "inbox"}

// oursIn returns a list of our tables for a statement, with its arguments.
func (e *examination) oursIn() (list string, args []any) {
	for _, suffix := range ours {
		args = append(args, e.table(suffix))
	}
	return strings.TrimSuffix(strings.Repeat("to_regclass(?), ", len(args)), ", "), args
}

// deadRows counts rows that are deleted and not vacuumed.
func (e *examination) deadRows(ctx context.Context) ([]Finding, error) {
	if e.dialect == onMySQL {
		return e.history(ctx)
	}
	list, args := e.oursIn()
	rows, err := query[struct {
		Name       string
		Dead, Live int64
		Vacuumed   string
	}](ctx, e, `
SELECT relid::regclass::text AS name, n_dead_tup AS dead, n_live_tup AS live,
  coalesce(to_char(greatest(last_vacuum, last_autovacuum) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), 'never')
    AS vacuumed
FROM pg_stat_user_tables WHERE relid IN (`+list+`) AND n_dead_tup > ?
ORDER BY n_dead_tup DESC`, append(args, manyDead)...)
	var findings []Finding
	for _, r := range rows {
		findings = append(findings, Finding{
			Severity: Warning, Subject: r.Name,
			Text: fmt.Sprintf("%s beside %s, last vacuumed: %s", count(r.Dead, "dead row"), count(r.Live, "live row"),
				r.Vacuumed),
			Fix: "end first what check horizon names, since no vacuum removes what may still be seen; then VACUUM " + r.Name,
		})
	}
	return findings, err
}

// autovacuum looks whether the server removes dead rows by itself.
func (e *examination) autovacuum(ctx context.Context) ([]Finding, error) {
	var findings []Finding
	off, err := query[string](ctx, e, `
SELECT name FROM pg_settings WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off' ORDER BY name`)
	for _, name := range off {
		findings = append(findings, Finding{
			Severity: Critical, Subject: name, Text: "it is off, so dead rows stay and everything slows down",
			Fix: "ALTER SYSTEM SET " + name + " = on; SELECT pg_reload_conf()",
		})
	}
	if err != nil {
		return findings, err
	}
	list, args := e.oursIn()
	tables, err := query[string](ctx, e, `
SELECT oid::regclass::text FROM pg_class
WHERE oid IN (`+list+`) AND array_to_string(reloptions, ',') ~ 'autovacuum_enabled=(off|false|no|0)'
ORDER BY 1`, args...)
	for _, name := range tables {
		findings = append(findings, Finding{
			Severity: Critical, Subject: name, Text: "autovacuum is switched off for it, so its dead rows stay",
			Fix: "ALTER TABLE " + name + " RESET (autovacuum_enabled)",
		})
	}
	return findings, err
}
