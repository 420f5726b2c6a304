package gormstore

import (
	"database/sql"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	driver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	mysqldialect "gorm.io/driver/mysql"
	pgdialect "gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// FuzzNames: a schema and a prefix are refused by a *NameError, or reach the server as what they are: quoted, they name
// the same thing there, and in every statement they stand where any other name would, and change nothing beside.
func FuzzNames(f *testing.F) {
	for _, schema := range []string{
		"", "shop", "Shop 2", `a"b`, "a`b", "a'b", `a\b`, `"; DROP TABLE x; --`, "{lanes}", "{lane_count}", "{now}",
		"{numbers}", "a$1b", "a?b", "a:b", "%s", "a;\nb", "ключ", strings.Repeat("x", 63), strings.Repeat("x", 64),
		"a\x00", "\xff",
		"-- +goose Up", "/*",
	} {
		f.Add(schema, "outbox")
	}
	for _, prefix := range []string{"", "x", "_", "1x", "a b", `a"b`, "a`b", "é", strings.Repeat("x", 39), "X9_"} {
		f.Add("shop", prefix)
	}
	onPostgres, onMariaDB := namedBy(f, "pgx", testservices.Postgres(f)), namedBy(f, "mysql", mariadbDSN(f))
	f.Fuzz(func(t *testing.T, schema, prefix string) {
		n, err := newNames(dialectOf("postgres"), schema, prefix)
		if err != nil {
			refused, ok := errors.AsType[*NameError](err)
			if !ok || refused.Rule == "" {
				t.Fatalf("%q, %q: refused by a stranger: %v", schema, prefix, err)
			}
			return
		}
		m, err := newNames(dialectOf(mysqlName), schema, prefix)
		if err != nil {
			t.Fatalf("%q, %q: taken for PostgreSQL, but not for MariaDB: %v", schema, prefix, err)
		}
		if schema == "" {
			return
		}
		if name, text := onPostgres(t, n.quote(schema), literal(schema)); name != schema || text != schema {
			t.Errorf("%q is %q and %q to PostgreSQL", schema, name, text)
		}
		// MariaDB has no other names, and drops what is blank or control from the beginning of an alias.
		if !strings.HasSuffix(schema, " ") && within3Bytes(schema) && !strings.ContainsFunc(schema[:1], unseen) {
			if name, text := onMariaDB(t, m.quote(schema), sqlText(schema)); name != schema || text != schema {
				t.Errorf("%q is %q and %q to MariaDB", schema, name, text)
			}
		}
		checkRendered(t, n)
		checkRendered(t, m)
	})
}

func unseen(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func within3Bytes(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return utf8.RuneLen(r) > 3 })
}

func dialectOf(name string) *gorm.DB {
	config := &gorm.Config{Dialector: pgdialect.New(pgdialect.Config{})}
	if name == mysqlName {
		config.Dialector = mysqldialect.New(mysqldialect.Config{})
	}
	return &gorm.DB{Config: config}
}

// namedBy returns a function that lets a server say what a quoted name names, and what a literal is.
func namedBy(f *testing.F, driver, address string) func(t *testing.T, quoted, literal string) (name, text string) {
	f.Helper()
	pool, err := sql.Open(driver, address)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = pool.Close() })
	return func(t *testing.T, quoted, literal string) (name, text string) {
		t.Helper()
		rows, err := pool.QueryContext(t.Context(), "SELECT "+literal+" AS "+quoted)
		if err != nil {
			t.Fatalf("%s, %s: %v", quoted, literal, err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil || len(columns) != 1 || !rows.Next() {
			t.Fatalf("%s, %s: %v, %v", quoted, literal, columns, errors.Join(err, rows.Err()))
		}
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		return columns[0], text
	}
}

func mariadbDSN(f *testing.F) string {
	f.Helper()
	u, err := url.Parse(testservices.MariaDB(f))
	if err != nil {
		f.Fatal("parse MARIADB_URL: want mariadb://user:password@host:port/database")
	}
	c := driver.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "tcp", u.Host, u.User.Username(), strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	return c.FormatDSN()
}

// checkRendered holds the statements of a schema against those of a plain one.
func checkRendered(t *testing.T, n names) {
	t.Helper()
	plain := n
	plain.schema = "plain"
	got, want := rendered(t, n), rendered(t, plain)
	if len(got) != len(want) {
		t.Fatalf("schema %q makes %d statements, another one %d", n.schema, len(got), len(want))
	}
	for i := range want {
		own := n.quote(n.schema) + "."
		again := strings.ReplaceAll(got[i], own, plain.quote("plain")+".")
		again = strings.ReplaceAll(again, replaceAll(own, "'", "''"), plain.quote("plain")+".") // in a string
		if again != want[i] && !strings.Contains(want[i], own) {
			t.Fatalf("schema %q changes a statement:\n%s\nwant:\n%s", n.schema, got[i], want[i])
		}
	}
}

// rendered are all migrations, and statements of each way to render them.
func rendered(t *testing.T, n names) []string {
	t.Helper()
	d := dialect(newPostgres(n))
	if n.ticks {
		d = newMySQL(n)
	}
	files, err := migrations.ReadDir("migrations/" + d.name())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		text, err := migrations.ReadFile("migrations/" + d.name() + "/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, renderMigration(d, n, string(text), 64)...)
	}
	all = append(all, d.archiveSQL(deliveredText), d.keySQL().find, d.inboxSQL().claim)
	switch d := d.(type) {
	case *postgres:
		all = texts(all, reflect.ValueOf(d.sql))
		for _, status := range []outbox.Status{"", outbox.StatusHeld, outbox.StatusInFlight} {
			all = append(all, d.findText(outbox.Filter{Status: status}))
		}
	case *mysql:
		text, _ := d.findText(finding{Filter: outbox.Filter{Status: outbox.StatusHeld}, limit: 1})
		all = append(all, text, d.text(mySettleDelivered, "{token}", "x"), d.text(myRenew, "{session}", "x"))
	}
	return all
}

// texts appends every text in v.
func texts(all []string, v reflect.Value) []string {
	switch v.Kind() {
	case reflect.String:
		return append(all, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			all = texts(all, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = texts(all, v.Index(i))
		}
	case reflect.Map:
		for _, key := range []verb{requeue, discard, skip} {
			all = texts(all, v.MapIndex(reflect.ValueOf(key)))
		}
	}
	return all
}
