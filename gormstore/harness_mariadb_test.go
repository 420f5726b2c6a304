package gormstore_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
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

// gateMariaDB is gate, by a lock of the gate's own.
func (f *fixture) gateMariaDB(key int64) (open func()) {
	f.Helper()
	exec(f, f.db, fmt.Sprintf(`CREATE TRIGGER gate BEFORE INSERT ON outbox_claims FOR EACH ROW
		SET @gate = GET_LOCK('%d', 30) + RELEASE_LOCK('%[1]d')`, key))
	conn := f.conn()
	var got int
	if err := conn.QueryRowContext(f.Context(), fmt.Sprintf("SELECT GET_LOCK('%d', 0)", key)).Scan(&got); err != nil {
		f.Fatal(err)
	}
	return func() {
		f.Helper()
		if _, err := conn.ExecContext(f.Context(), fmt.Sprintf("DO RELEASE_LOCK('%d')", key)); err != nil {
			f.Fatal(err)
		}
	}
}

// gated is what a claim is seen to do before a gate.
func (f *fixture) gated() string { return f.either("WITH mine", "GET_LOCK") }

// waitingMariaDB waits until n statements that contain text wait for a lock.
func (f *fixture) waitingMariaDB(n int, text string) {
	f.Helper()
	f.eventually(text+" to wait", func() bool {
		var running []struct {
			ID    int
			State string
		}
		err := f.db.Raw(`SELECT id, coalesce(state, '') AS state FROM information_schema.processlist
			WHERE db = database() AND id <> connection_id() AND info LIKE ?`, "%"+text+"%").Scan(&running).Error
		if err != nil {
			f.Fatal(err)
		}
		got, blocked := 0, f.lockWaits()
		for _, r := range running {
			if blocked[r.ID] || r.State == "User lock" {
				got++
			}
		}
		return got == n
	})
}

var threadID = regexp.MustCompile(`thread id ([0-9]+)`)

// lockWaits are the connections that wait for InnoDB. The table of transactions would tell, too, but is a copy that is
// not renewed while anybody asks for it more than ten times a second.
func (f *fixture) lockWaits() map[int]bool {
	f.Helper()
	var kind, name, status string
	if err := f.db.Raw("SHOW ENGINE INNODB STATUS").Row().Scan(&kind, &name, &status); err != nil {
		f.Fatal(err)
	}
	waits := map[int]bool{}
	for part := range strings.SplitSeq(status, "---TRANSACTION ") {
		if match := threadID.FindStringSubmatch(part); match != nil && strings.Contains(part, "LOCK WAIT") {
			id, _ := strconv.Atoi(match[1])
			waits[id] = true
		}
	}
	return waits
}
