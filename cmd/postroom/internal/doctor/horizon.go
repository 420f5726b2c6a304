package doctor

import (
	"cmp"
	"context"
	"fmt"
)

// Rows that were deleted stay while somebody may still see them, and everything that reads the table walks over them.

// A transaction may be open for so long without being a finding: one that does nothing, and one that runs a statement.
const (
	idleGrace = 1.0 // seconds
	busyGrace = 30.0
	longOpen  = 300.0 // is critical
)

// holder is a transaction that is open.
type holder struct {
	ID          string
	Application string
	Account     string
	State       string
	Kind        string // of its statement: the first word
	Seconds     float64
}

func (h holder) finding(fix string) Finding {
	f := Finding{
		Severity: Warning, Subject: h.ID, Fix: fix,
		Text: fmt.Sprintf("application %q of %s, %s, last statement %s: its transaction has been open for %s, and rows "+
			"that were deleted since cannot be vacuumed", h.Application, h.Account, h.State, cmp.Or(h.Kind, "unknown"),
			span(h.Seconds)),
	}
	if h.Seconds >= longOpen {
		f.Severity = Critical
	}
	return f
}

func (e *examination) horizon(ctx context.Context) ([]Finding, error) {
	if e.dialect == onMySQL {
		return e.readViews(ctx)
	}
	var findings []Finding
	for _, look := range []func(context.Context) ([]Finding, error){
		e.backends, e.prepared, e.replicas, e.privilege,
	} {
		found, err := look(ctx)
		if err != nil {
			return findings, err
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

// backends are the sessions whose snapshot or transaction id holds back vacuum in this database.
func (e *examination) backends(ctx context.Context) ([]Finding, error) {
	holders, err := query[holder](ctx, e, `
SELECT pid::text AS id, coalesce(application_name, '') AS application, coalesce(usename, '') AS account,
  coalesce(state, '') AS state, coalesce(upper(substring(query FROM '^\s*(\w+)')), '') AS kind,
  extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
  AND extract(epoch FROM clock_timestamp() - xact_start) >=
    CASE WHEN state LIKE 'idle in transaction%' THEN `+seconds(idleGrace)+` ELSE `+seconds(busyGrace)+` END
ORDER BY xact_start`)
	var findings []Finding
	for _, h := range holders {
		fix := fmt.Sprintf("end it: SELECT pg_terminate_backend(%s); then let the application end its transactions, or "+
			"bound them with idle_in_transaction_session_timeout", h.ID)
		h.ID = "backend " + h.ID
		findings = append(findings, h.finding(fix))
	}
	return findings, err
}

// seconds writes a constant into a statement.
func seconds(s float64) string { return fmt.Sprint(s) }

// prepared are transactions that wait for their second phase, which a restart of the server does not end.
func (e *examination) prepared(ctx context.Context) ([]Finding, error) {
	holders, err := query[holder](ctx, e, `
SELECT gid AS id, owner AS account, extract(epoch FROM clock_timestamp() - prepared)::float8 AS seconds
FROM pg_prepared_xacts WHERE database = current_database() AND prepared < clock_timestamp() - interval '1 second'
ORDER BY prepared`)
	var findings []Finding
	for _, h := range holders {
		f := h.finding(fmt.Sprintf("ask its coordinator, and COMMIT PREPARED or ROLLBACK PREPARED '%s'", h.ID))
		f.Subject = "prepared transaction " + h.ID
		f.Text = fmt.Sprintf("prepared by %s %s ago and neither committed nor rolled back: rows that were deleted since "+
			"cannot be vacuumed", h.Account, span(h.Seconds))
		findings = append(findings, f)
	}
	return findings, err
}

// farBehind is how many transactions a replica's or a slot's horizon may be old.
const farBehind = 1_000_000

// replicas are standbys that report the snapshots of their readers.
func (e *examination) replicas(ctx context.Context) ([]Finding, error) {
	rows, err := query[struct {
		PID         int
		Application string
		Age         int64
	}](ctx, e, `
SELECT pid, coalesce(application_name, '') AS application, age(backend_xmin) AS age
FROM pg_stat_replication WHERE age(backend_xmin) > ? ORDER BY 3 DESC`, farBehind)
	var findings []Finding
	for _, r := range rows {
		findings = append(findings, Finding{
			Severity: Warning, Subject: fmt.Sprintf("standby %s (backend %d)", r.Application, r.PID),
			Text: fmt.Sprintf("a reader on it holds a snapshot that is %s old, and rows that were deleted since "+
				"cannot be vacuumed here", count(r.Age, "transaction")),
			Fix: "end the long query on the standby, or set hot_standby_feedback = off there",
		})
	}
	return findings, err
}

// privilege tells when others cannot be seen.
func (e *examination) privilege(ctx context.Context) ([]Finding, error) {
	rows, err := query[struct {
		Account string
		Sees    bool
	}](ctx, e, "SELECT current_user AS account, pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees")
	if err != nil || rows[0].Sees {
		return nil, err
	}
	return []Finding{{
		Severity: Notice, Subject: "account " + rows[0].Account, Text: "it cannot see the transactions of other accounts",
		Fix: fmt.Sprintf("GRANT pg_monitor TO %q", rows[0].Account),
	}}, nil
}
