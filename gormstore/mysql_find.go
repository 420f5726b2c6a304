package gormstore

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"

	"github.com/postroom/postroom/outbox"
)

const (
	// myFind picks numbers by narrow rows, and reads what is wide for those on the page alone.
	myFind = `
SELECT {columns} FROM (SELECT u.seq FROM ({places}) u ORDER BY u.seq LIMIT $2) p JOIN {messages} m ON m.seq = p.seq
ORDER BY m.seq`
	myFindPlace = `(SELECT m.seq FROM {messages} m {index} WHERE {place} AND {match} ORDER BY m.seq LIMIT $2)`
	myClaimed   = `m.seq IN (SELECT j.seq FROM {claims} c JOIN JSON_TABLE(c.seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) j)`
)

// myFindIndex names the index of a place: by number where most messages are, by state where few are.
var myFindIndex = map[string]string{
	findReady:   "FORCE INDEX (PRIMARY)",
	findDue:     "FORCE INDEX (place)",
	findSuspect: "FORCE INDEX (place)",
	findAside:   "FORCE INDEX (place)",
	findByID:    "FORCE INDEX (id)",
}

func (m *mysql) find(ctx context.Context, pool *sql.DB, f finding) ([]outbox.Record, error) {
	text, args := m.findText(f)
	if text == "" {
		return nil, nil
	}
	return readRecords(pool.QueryContext(ctx, text, args...))
}

func (m *mysql) findText(f finding) (string, []any) {
	var reads []string
	for _, place := range places(f.Filter) {
		reads = append(reads, replaceAll(myFindPlace, "{place}", place, "{index}", myFindIndex[place]))
	}
	if len(reads) == 0 {
		return "", nil
	}
	text := replaceAll(myFind, "{columns}", f.columns(), "{places}", strings.Join(reads, "\n  UNION ALL\n  "))
	text = replaceAll(replaceAll(text, "{match}", findMatch+findOnly(f.Status, "")),
		"{id}", "UNHEX(REPLACE($12, '-', ''))", "{claimed}", myClaimed,
		"{position}", "instr", "{microseconds}", "", "CAST(0 AS bigint)", "0",
		"{wait}", "m.available_at - {now}", "{available}", "m.available_at", "{created}", "m.created_at")
	text, args := positional(text, f.args()) // before the names come in: one may hold a dollar
	return m.text(text), args
}

var numbered = regexp.MustCompile(`\$[0-9]+`)

// positional turns $1, $2 … into the question marks that the driver knows, and repeats their arguments.
func positional(text string, args []any) (string, []any) {
	var list []any
	text = numbered.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.Atoi(s[1:])
		if err != nil || n < 1 || n > len(args) {
			return s
		}
		list = append(list, args[n-1])
		return "?"
	})
	return text, list
}
