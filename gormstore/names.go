package gormstore

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"
)

const (
	defaultName  = "outbox"
	maxName      = 38 // bytes; with the longest suffix, an index name stays below PostgreSQL's 63
	maxSchema    = 63 // bytes; PostgreSQL's limit of an identifier
	minimumLanes = 1
	maximumLanes = 4096
	defaultLanes = 64
)

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// NameError refuses a table prefix or a schema that cannot be an identifier.
type NameError struct {
	Field string // Name or Schema
	Value string
	Rule  string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("gormstore: %s %q: %s", e.Field, e.Value, e.Rule)
}

// names are the identifiers of one store, the only ones that reach SQL text, validated and always quoted.
type names struct {
	schema, prefix string
	ticks          bool // MySQL's quotes
}

func newNames(db *gorm.DB, schema, prefix string) (names, error) {
	if prefix == "" {
		prefix = defaultName
	}
	if !plainName.MatchString(prefix) || len(prefix) > maxName {
		return names{}, &NameError{"Name", prefix, fmt.Sprintf("use at most %d letters, digits and underscores", maxName)}
	}
	if len(schema) > maxSchema || !utf8.ValidString(schema) || strings.IndexByte(schema, 0) >= 0 {
		return names{}, &NameError{"Schema", schema, fmt.Sprintf("use at most %d bytes of UTF-8", maxSchema)}
	}
	return names{schema: schema, prefix: prefix, ticks: db.Dialector.Name() == mysqlName}, nil
}

// table returns the quoted, qualified name of a table.
func (n names) table(suffix string) string {
	if n.schema == "" {
		return n.quote(n.prefix + "_" + suffix)
	}
	return n.quote(n.schema) + "." + n.quote(n.prefix+"_"+suffix)
}

func (n names) quote(name string) string {
	if n.ticks {
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// render puts names into a statement: {messages} becomes the quoted table, {name_x} the quoted identifier prefix_x.
func (n names) render(sql string) string { return n.replacer().Replace(sql) }

func (n names) replacer() *strings.Replacer {
	var pairs []string
	for _, t := range append([]string{"keys"}, tables...) { // keys are MariaDB's
		pairs = append(pairs, "{"+t+"}", n.table(t))
	}
	for _, x := range []string{"ready", "due", "suspect", "keyed", "parked"} {
		pairs = append(pairs, "{name_messages_"+x+"}", n.quote(n.prefix+"_messages_"+x))
	}
	for _, x := range []string{
		"idempotency_expires", "inbox_handled", "archive_delivered", "archive_id", "audit_message",
	} {
		pairs = append(pairs, "{name_"+x+"}", n.quote(n.prefix+"_"+x))
	}
	return strings.NewReplacer(pairs...)
}

// replaceAll replaces pairs of old and new.
func replaceAll(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }
