package gormstore

import (
	"context"
	"database/sql"
	"strings"

	"github.com/postroom/postroom/outbox"
)

const liteFind = `
SELECT {columns} FROM {messages} m WHERE ({places}) AND {match} ORDER BY m.seq LIMIT $2`

// find reads by number, which is the table's own order, unless a place has few messages and an index.
func (l *sqlite) find(ctx context.Context, pool *sql.DB, f finding) ([]outbox.Record, error) {
	in := places(f.Filter)
	switch {
	case len(in) == 0:
		return nil, nil
	case len(in) > 1 && f.Status == "":
		in = []string{"TRUE"}
	}
	text := replaceAll(liteFind, "{columns}", f.columns(), "{places}", strings.Join(in, " OR "), "{match}",
		findMatch+findOnly(f.Status, ""))
	text = replaceAll(text,
		"{id}", "?12", "{claimed}", "m.id IN (SELECT i.value FROM {claims} c, json_each(c.ids) i)", "{now}", liteNow,
		"{position}", "instr", "{microseconds}", "", "{wait}", "m.available_at - "+liteNow,
		"{available}", "m.available_at", "{created}", "m.created_at", "$", "?")
	return readRecords(pool.QueryContext(ctx, l.names.render(text), f.args()...))
}
