package gormstore

import (
	"context"
	"errors"
	"strings"
)

// pgCatalog describes tables, one line for each thing that a migration makes: kind, name and form. It names nothing
// that could be missing, which would end the transaction that it runs in.
const pgCatalog = `
WITH t AS MATERIALIZED (
  SELECT u.suffix, c.oid, c.relkind, c.relpersistence, c.relrowsecurity, c.reloptions, c.relhasrules
  FROM unnest($1::text[], $2::text[]) AS u (suffix, name) JOIN pg_class c ON c.oid = to_regclass(u.name)
)
SELECT 'table', suffix,
  CASE WHEN relkind = 'r' AND relpersistence = 'p' THEN 'logged' ELSE relkind::text || relpersistence::text END
FROM t
UNION ALL
SELECT 'column', t.suffix || '.' || a.attname, format_type(a.atttypid, a.atttypmod)
  || CASE WHEN a.attcollation <> 0 AND a.attcollation <> y.typcollation THEN ' COLLATE ' || l.collname ELSE '' END
  || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
  || CASE WHEN a.attidentity <> '' THEN ' IDENTITY' WHEN a.atthasdef THEN ' DEFAULT' ELSE '' END
FROM t
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type y ON y.oid = a.atttypid
LEFT JOIN pg_collation l ON l.oid = a.attcollation
UNION ALL
SELECT 'numbers', t.suffix || '.' || a.attname,
  'CACHE ' || s.seqcache || ' INCREMENT ' || s.seqincrement || CASE WHEN s.seqcycle THEN ' CYCLE' ELSE '' END
FROM t
JOIN pg_depend d ON d.refobjid = t.oid AND d.refclassid = 'pg_class'::regclass AND d.classid = 'pg_class'::regclass
  AND d.deptype = 'i'
JOIN pg_sequence s ON s.seqrelid = d.objid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
UNION ALL
SELECT 'index', c.relname, CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END || t.suffix || ' ('
  || (SELECT string_agg(coalesce(a.attname, '?'), ', ' ORDER BY k.nth)
    FROM unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (num, nth)
    LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num)
  || ')' || coalesce(' WHERE ' || pg_get_expr(i.indpred, i.indrelid), '')
  || CASE WHEN i.indisvalid THEN '' ELSE ' INVALID' END
FROM t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class c ON c.oid = i.indexrelid
UNION ALL
SELECT 'option', t.suffix || '.' || split_part(o, '=', 1), split_part(o, '=', 2) FROM t, unnest(t.reloptions) AS o
UNION ALL
SELECT 'storage', t.suffix || '.' || a.attname, a.attstorage::text
FROM t
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type y ON y.oid = a.atttypid AND y.typstorage <> a.attstorage
UNION ALL
SELECT 'trigger', t.suffix || '.' || g.tgname, pg_get_triggerdef(g.oid)
FROM t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
UNION ALL
SELECT 'security', suffix, 'row level' FROM t WHERE relrowsecurity
UNION ALL
SELECT 'rules', suffix, 'present' FROM t WHERE relhasrules`

// catalog describes the tables, by names without prefix.
func (p *postgres) catalog(ctx context.Context, q querier) (lines []line, err error) {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = p.names.table(t)
	}
	rows, err := q.QueryContext(ctx, pgCatalog, textArray(tables), textArray(names))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var l line
		if err := rows.Scan(&l.kind, &l.name, &l.form); err != nil {
			return nil, errors.Join(err, rows.Err())
		}
		l.name = strings.TrimPrefix(l.name, p.names.prefix+"_")
		lines = append(lines, l)
	}
	return lines, rows.Err()
}
