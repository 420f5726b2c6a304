package doctor

import (
	"context"
	"fmt"
)

// muchWAL is how much an unused slot may keep before it is urgent.
const muchWAL = 10 << 30

// slots looks for replication slots that nobody reads: the server keeps its log for them until the disk is full.
func (e *examination) slots(ctx context.Context) ([]Finding, error) {
	rows, err := query[struct {
		Name      string
		Kind      string
		Active    bool
		Kept      int64
		Age       int64
		Unbounded bool
	}](ctx, e, `
SELECT slot_name AS name, slot_type AS kind, active,
  coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END,
    restart_lsn), 0)::bigint AS kept,
  coalesce(age(xmin), 0) AS age, current_setting('max_slot_wal_keep_size') = '-1' AS unbounded
FROM pg_replication_slots ORDER BY slot_name`)
	var findings []Finding
	for _, r := range rows {
		drop := fmt.Sprintf("start what reads it, or drop it: SELECT pg_drop_replication_slot('%s')", r.Name)
		f := Finding{Severity: Warning, Subject: "replication slot " + r.Name, Fix: drop}
		switch {
		case !r.Active:
			f.Text = fmt.Sprintf("nobody reads this %s slot, and the server keeps %s of its log for it", r.Kind, size(r.Kept))
			if r.Kept > muchWAL {
				f.Severity = Critical
			}
			if r.Unbounded {
				f.Fix += "; max_slot_wal_keep_size bounds what slots may keep"
			}
		case r.Age > farBehind:
			f.Text = fmt.Sprintf("its reader holds a snapshot that is %s old, and rows that were deleted since cannot "+
				"be vacuumed", count(r.Age, "transaction"))
			f.Fix = "let what reads it catch up"
		default:
			continue
		}
		findings = append(findings, f)
	}
	return findings, err
}
