package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/glebarez/sqlite"
	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
)

// maxConnections leaves room for several processes on one PostgreSQL.
const maxConnections = 20

// SQLite has one writer at a time, so a transaction asks to write when it begins and waits for its turn.
const sqliteOptions = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"

type database struct {
	*gorm.DB
	name    string // for people: no credentials
	temp    string // a directory that ends with the process
	lanes   int    // of the outbox; 0 is its own default
	workers int    // of the relay; 0 is its own default
}

// openDatabase connects and brings the tables up to date: the outbox's, and where orders are taken the shop's own.
func openDatabase(ctx context.Context, c config) (_ *database, err error) {
	dialector, db, err := chooseDatabase(c.databaseURL)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the database: %w", err), db.close())
		}
	}()
	if db.DB, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, TranslateError: true}); err != nil {
		return nil, err
	}
	pool, err := db.DB.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)
	if err := gormstore.Migrate(ctx, db.DB, gormstore.MigrateConfig{Lanes: db.lanes}); err != nil {
		return nil, err
	}
	if !c.api {
		return db, nil
	}
	return db, db.WithContext(ctx).AutoMigrate(&Order{}, &Item{}, &Shipment{})
}

func chooseDatabase(address string) (gorm.Dialector, *database, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "postgres", "postgresql":
		return postgres.Open(address), &database{name: "PostgreSQL"}, nil
	case "mariadb":
		return openMariaDB(address)
	case "sqlite":
		return openSQLite(rest, "")
	case "":
		temp, err := os.MkdirTemp("", "orders-api-")
		if err != nil {
			return nil, nil, err
		}
		return openSQLite(filepath.Join(temp, "orders.db"), temp)
	}
	return nil, nil, errors.New("DATABASE_URL is of an unknown kind: use postgres://…, mariadb://… or sqlite:FILE")
}

// openMariaDB takes the form of address that other servers have, instead of the driver's own. The shop's tables have
// columns of the type UUID, which MySQL lacks.
func openMariaDB(address string) (gorm.Dialector, *database, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User == nil {
		return nil, nil, errors.New("DATABASE_URL: want mariadb://user:password@host:port/database")
	}
	c := driver.NewConfig()
	c.Net, c.Addr, c.DBName, c.ParseTime = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), true
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	return mysql.New(mysql.Config{DSNConfig: c}), &database{name: "MariaDB"}, nil
}

// openSQLite asks for one worker and few lanes: where only one can write, a second worker would wait for the first, and
// every lane that is looked into keeps handlers waiting.
func openSQLite(file, temp string) (gorm.Dialector, *database, error) {
	db := &database{name: "SQLite " + file, temp: temp, lanes: 8, workers: 1}
	return sqlite.Open(file + sqliteOptions), db, nil
}

func (db *database) close() error {
	var errs []error
	if db.DB != nil {
		pool, err := db.DB.DB()
		if err == nil {
			err = pool.Close()
		}
		errs = append(errs, err)
	}
	if db.temp != "" {
		errs = append(errs, os.RemoveAll(db.temp))
	}
	return errors.Join(errs...)
}
