package gormstore_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

func onPostgres(t *testing.T) *fixture {
	t.Helper()
	return newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
}

// servers are the databases with many writers at once.
var servers = map[string]func(t testing.TB, config gorm.Config) *gorm.DB{
	"postgres": openPostgres,
	"mariadb":  openMariaDB,
}

// onServers runs check on every one of them.
func onServers(t *testing.T, check func(t *testing.T, f *fixture)) {
	t.Helper()
	onThese(t, servers, check)
}

// either is the first on PostgreSQL, and the second on MariaDB.
func (f *fixture) either(postgres, mariadb string) string {
	if f.db.Name() == "mysql" {
		return mariadb
	}
	return postgres
}
