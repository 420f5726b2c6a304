package doctor

import (
	"context"
	"fmt"
)

// readViews are the transactions that keep InnoDB from purging what was deleted.
func (e *examination) readViews(ctx context.Context) ([]Finding, error) {
	holders, err := query[holder](ctx, e, `
SELECT cast(t.trx_mysql_thread_id AS char) AS id, coalesce(p.user, '') AS account, '' AS application,
  lower(coalesce(p.command, '')) AS state, upper(substring_index(trim(coalesce(t.trx_query, '')), ' ', 1)) AS kind,
  cast(timestampdiff(MICROSECOND, t.trx_started, now(6)) AS double) / 1e6 AS seconds
FROM information_schema.innodb_trx t LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id <> connection_id() AND t.trx_mysql_thread_id <> 0
  AND timestampdiff(MICROSECOND, t.trx_started, now(6)) / 1e6 >=
    CASE WHEN p.command = 'Sleep' THEN `+seconds(idleGrace)+` ELSE `+seconds(busyGrace)+` END
ORDER BY t.trx_started`)
	var findings []Finding
	for _, h := range holders {
		fix := fmt.Sprintf("end it: KILL %s; then let the application end its transactions, or bound them with "+
			"idle_transaction_timeout", h.ID)
		h.ID = "connection " + h.ID
		findings = append(findings, h.finding(fix))
	}
	return findings, err
}

// longHistory is how many changes may wait for InnoDB's purge.
const longHistory = 1_000_000

// history is what InnoDB has not purged.
func (e *examination) history(ctx context.Context) ([]Finding, error) {
	rows, err := query[int64](ctx, e, `
SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len' AND count > ?`, longHistory)
	var findings []Finding
	for _, n := range rows {
		findings = append(findings, Finding{
			Severity: Warning, Subject: "InnoDB", Text: count(n, "change") + " are not purged",
			Fix: "end first what check horizon names; then the server purges by itself, faster with more " +
				"innodb_purge_threads",
		})
	}
	return findings, err
}
