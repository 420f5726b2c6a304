package gormstore_test

import (
	"net/url"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/postroom/postroom/internal/testservices"
)

func openMariaDB(t testing.TB, config gorm.Config) *gorm.DB {
	t.Helper()
	return open(t, mysql.Open(mariadbAddress(t).FormatDSN()), config)
}

// mariadbAddress makes a database and returns its address.
func mariadbAddress(t testing.TB) *driver.Config {
	t.Helper()
	u, err := url.Parse(testservices.MariaDB(t))
	if err != nil || u.Host == "" {
		t.Fatal("parse MARIADB_URL: want mariadb://user:password@host:port/database")
	}
	c := driver.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "tcp", u.Host, u.User.Username(), strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	admin := open(t, mysql.Open(c.FormatDSN()), gorm.Config{})
	c.DBName = testservices.Name("gormstore")
	exec(t, admin, "CREATE DATABASE "+c.DBName)
	t.Cleanup(func() { exec(t, admin, "DROP DATABASE "+c.DBName) })
	return c
}
