package database_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/postroom/postroom/cmd/postroom/internal/database"
	"github.com/postroom/postroom/internal/testservices"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	mariadb, err := url.Parse(testservices.MariaDB(t))
	if err != nil {
		t.Fatal("MARIADB_URL is no URL")
	}
	password, _ := mariadb.User.Password()
	for _, tt := range []struct{ name, address string }{
		{"PostgreSQL", testservices.Postgres(t)},
		{"MariaDB", mariadb.String()},
		{"MySQL_by_the_driver's_own_form", mariadb.User.Username() + ":" + password + "@tcp(" + mariadb.Host + ")" + mariadb.Path},
	} {
		t.Run("reaches_"+tt.name, func(t *testing.T) {
			t.Parallel()
			db, err := database.Open(tt.address, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := database.Ping(t.Context(), db); err != nil {
				t.Error(err)
			}
			if err := database.Close(db); err != nil {
				t.Error(err)
			}
		})
	}
	for _, address := range []string{
		"sqlite:hunter2", "hunter2", "mariadb://hunter2", "mariadb://u:hunter2@h/d?timeout=x", "postgres://u:hunter2@h:x/d",
		"mariadb://u:hunter2@%zz/d", "postgres://u:a@hunter2@h:x/d", "postgres://u:a@hunter2@h/d?sslmode=x",
	} {
		t.Run("refuses_"+address+"_without_repeating_it", func(t *testing.T) {
			t.Parallel()
			if _, err := database.Open(address, 1); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v", err)
			}
		})
	}
}
