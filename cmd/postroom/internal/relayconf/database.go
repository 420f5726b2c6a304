package relayconf

import (
	"cmp"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/postroom/postroom/cmd/postroom/internal/database"
)

// Open returns handles of the database and of its control pool. It does no I/O: its errors are about the
// configuration.
func (d Database) Open() (db, control *gorm.DB, err error) {
	if db, err = d.OpenOne(); err != nil {
		return nil, nil, err
	}
	c := d.Control
	if control, err = open(cmp.Or(c.URL, d.URL), cmp.Or(c.Password, d.Password), c.MaxConnections); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("database.control.url: %w", err), database.Close(db))
	}
	return db, control, nil
}

// OpenOne is Open without the control pool.
func (d Database) OpenOne() (*gorm.DB, error) {
	if d.URL == "" {
		return nil, errors.New("database.url is missing")
	}
	db, err := open(d.URL, d.Password, d.MaxConnections)
	if err != nil {
		return nil, fmt.Errorf("database.url: %w", err)
	}
	return db, nil
}

// Address is the database's, with the password.
func (d Database) Address() string { return d.URL.withPassword(d.Password) }

func open(at URL, password Secret, connections int) (*gorm.DB, error) {
	return database.Open(at.withPassword(password), connections)
}
