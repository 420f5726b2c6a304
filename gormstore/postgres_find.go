package gormstore

import (
	"context"
	"database/sql"
	"strings"

	"github.com/postroom/postroom/outbox"
)

const (
	// pgFind picks ids by narrow rows, and reads what is wide for those on the page alone.
	pgFind = `
SELECT {columns} FROM {messages} m
WHERE m.id = ANY (ARRAY (SELECT u.id FROM ({places}) u ORDER BY u.seq LIMIT $2))
ORDER BY m.seq`

	// pgFindReady reads lane by lane, because no index orders all ready messages.
	pgFindReady = `(SELECT r.* FROM {lanes} l CROSS JOIN LATERAL (
    SELECT m.id, m.seq FROM {messages} m WHERE m.lane = l.lane AND m.state = 0 AND {match}{only}
    ORDER BY m.seq LIMIT $2) r
  WHERE $11 < 0 OR l.lane = $11)`

	// pgFindClaimed goes to each message by itself: a plan for an empty table reads a list of ids by going through all.
	pgFindClaimed = `(SELECT r.* FROM (SELECT unnest(c.ids) AS id FROM {claims} c) i CROSS JOIN LATERAL (
    SELECT m.id, m.seq FROM {messages} m WHERE m.id = i.id AND {match} OFFSET 0) r ORDER BY r.seq LIMIT $2)`

	pgFindPlace = `(SELECT m.id, m.seq FROM {messages} m WHERE {place} AND {match} ORDER BY m.seq LIMIT $2)`
)

func (p *postgres) find(ctx context.Context, pool *sql.DB, f finding) (records []outbox.Record, err error) {
	text := p.findText(f.Filter)
	if text == "" {
		return nil, nil
	}
	err = p.browse(ctx, pool, func(q querier) error {
		records, err = readRecords(q.QueryContext(ctx, text, f.args()...))
		return err
	})
	return records, err
}

func (p *postgres) findText(f outbox.Filter) string {
	var reads []string
	for _, place := range places(f) {
		switch place {
		case findReady:
			reads = append(reads, replaceAll(pgFindReady, "{only}", findOnly(f.Status, " WHERE b.lane = l.lane")))
		case findClaimed:
			reads = append(reads, pgFindClaimed)
		default:
			reads = append(reads, replaceAll(pgFindPlace, "{place}", place))
		}
	}
	if len(reads) == 0 {
		return ""
	}
	text := replaceAll(pgFind,
		"{columns}", finding{Filter: f}.columns(), "{places}", strings.Join(reads, "\n  UNION ALL\n  "))
	text = replaceAll(replaceAll(text, "{match}", findMatch),
		"{id}", "$12", "{claimed}", "m.id IN (SELECT unnest(c.ids) FROM {claims} c)", "{now}", "now()",
		"{position}", "strpos", "{microseconds}", " * interval '1 microsecond'",
		"{wait}", microseconds("m.available_at - now()"), "{available}", microseconds("m.available_at"),
		"{created}", microseconds("m.created_at"))
	return p.names.render(text)
}

func microseconds(of string) string { return "(extract(epoch FROM " + of + ") * 1000000)::bigint" }
