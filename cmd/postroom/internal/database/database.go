// Package database opens the databases that commands work on.
package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// ErrAddress refuses an address. No error repeats one, because addresses hold passwords.
var ErrAddress = errors.New("not the address of a database: write postgres://user:password@host:port/database or " +
	"mariadb://user:password@host:port/database (also mysql://), or a DSN of Go's MySQL driver")

// Open returns a handle of the database at address that makes up to connections connections, or as many as it takes if
// that is 0. It does no I/O: [Ping] does. Close it with [Close].
func Open(address string, connections int) (*gorm.DB, error) {
	dialector, err := newDialector(address)
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if connections > 0 {
		pool.SetMaxOpenConns(connections)
		pool.SetMaxIdleConns(connections)
	}
	return db, nil
}

// Ping connects.
func Ping(ctx context.Context, db *gorm.DB) error {
	pool, err := db.DB()
	if err == nil {
		err = pool.PingContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	return nil
}

// Close ends the connections.
func Close(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

func newDialector(address string) (gorm.Dialector, error) {
	scheme, _, _ := strings.Cut(address, "://")
	switch scheme {
	case "postgres", "postgresql":
		if _, err := pgconn.ParseConfig(address); err != nil {
			return nil, because(err)
		}
		return postgres.Open(address), nil
	case "mariadb", "mysql":
		return openURL(address)
	}
	c, err := driver.ParseDSN(address)
	if err != nil {
		return nil, ErrAddress
	}
	return newMySQL(c), nil
}

// because says what is wrong without the address, which pgx repeats.
func because(err error) error {
	if reason := errors.Unwrap(err); reason != nil {
		return fmt.Errorf("%w (%w)", ErrAddress, reason)
	}
	return ErrAddress
}

// openURL takes the form of address that other servers have, instead of the driver's own.
func openURL(address string) (gorm.Dialector, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User == nil {
		return nil, ErrAddress
	}
	c, err := driver.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, ErrAddress
	}
	c.Net, c.Addr, c.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		c.Addr += ":3306"
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	return newMySQL(c), nil
}

// newMySQL asks for no version of the server, which only matters for making tables of models.
func newMySQL(c *driver.Config) gorm.Dialector {
	c.ParseTime = true
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	return mysql.New(mysql.Config{DSNConfig: c, SkipInitializeWithVersion: true})
}
