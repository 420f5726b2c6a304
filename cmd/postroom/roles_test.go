package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
)

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// TestRoles: the accounts of docs/postgres-roles.md are enough for the commands that docs/cli.md says.
func TestRoles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/postgres-roles.md")
	if err != nil {
		t.Fatal(err)
	}
	prefix := testservices.Name("shop") + "_"
	blocks := sqlBlock.FindAllStringSubmatch(strings.ReplaceAll(string(page), "shop_", prefix), -1)
	admin := openDatabase(t, testservices.Postgres(t))
	t.Cleanup(func() { // once the database is gone
		for _, role := range []string{"migrator", "app", "relay", "operator"} {
			execute(t, admin, "DROP ROLE IF EXISTS "+prefix+role)
		}
	})
	d := newPostgreSQL(t)
	as := func(role string) string {
		u, err := url.Parse(d.url)
		if err != nil {
			t.Fatal("the address of the database is no URL")
		}
		u.User = url.UserPassword(prefix+role, "change me")
		return u.String()
	}
	execute(t, d.db, blocks[0][1])
	migrator, operator := as("migrator"), as("operator")
	runWith(t, migrator, "schema", "sql", "--schema", "outbox").want(0, "-- to version")
	runWith(t, migrator, "migrate", "--schema", "outbox", "--lanes", "8").want(0)
	execute(t, openDatabase(t, migrator), blocks[1][1]+blocks[2][1])
	if d.store, err = gormstore.Open(d.db, gormstore.Config{Schema: "outbox"}); err != nil {
		t.Fatal(err)
	}
	r := d.seed()
	for _, line := range []string{
		"schema check", "status", "owners", "list", fmt.Sprint("show ", seedID(1)),
		"requeue --key customer-1 --yes --reason x", "skip --key customer-2 --yes --reason x",
		"discard --key customer-2 --yes --reason x", "pause --all --reason x", "resume --all --reason x",
		"release --relay " + r.label + " --reason x", "purge --older-than 1h --reason x",
	} {
		runWith(t, operator, append(strings.Fields(line), "--schema", "outbox")...).want(0)
	}
	runWith(t, operator, "migrate", "--schema", "outbox").want(exitFailed, "permission denied")
}
