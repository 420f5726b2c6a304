package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/postroom/postroom/cmd/postroom/internal/database"
	"github.com/postroom/postroom/gormstore"
)

// target is the outbox that a command works on, as the flags of the root say.
type target struct {
	getenv      func(string) string
	databaseURL string
	schema      string
	name        string
	json        bool
}

func newTarget(root *cobra.Command, getenv func(string) string) *target {
	t := &target{getenv: getenv}
	flags := root.PersistentFlags()
	flags.StringVar(&t.databaseURL, "database", "",
		"postgres://… or mariadb://… address of the database (default: DATABASE_URL of the environment)")
	flags.StringVar(&t.schema, "schema", "", "schema of the outbox tables (default: the connection's)")
	flags.StringVar(&t.name, "name", "outbox", "prefix of the outbox tables")
	flags.BoolVar(&t.json, "json", false, "print JSON")
	return t
}

// open connects, and returns the store of the outbox and its handle, whatever tables there are; end closes the
// connections.
func (t *target) open(ctx context.Context) (store *gormstore.Store, db *gorm.DB, end func(), err error) {
	url := cmp.Or(t.databaseURL, t.getenv("DATABASE_URL"))
	if url == "" {
		return nil, nil, nil, usageError{errors.New("no database: give --database or set DATABASE_URL")}
	}
	db, err = database.Open(url, 0)
	if err != nil {
		return nil, nil, nil, usageError{err}
	}
	end = func() { _ = database.Close(db) }
	if store, err = gormstore.Open(db, gormstore.Config{Name: t.name, Schema: t.schema}); err != nil {
		err = usageError{err}
	} else {
		err = database.Ping(ctx, db)
	}
	if err != nil {
		end()
		return nil, nil, nil, err
	}
	return store, db, end, nil
}

// with opens the outbox for do.
func (t *target) with(c *cobra.Command, do func(ctx context.Context, store *gormstore.Store) error) error {
	store, _, end, err := t.open(c.Context())
	if err != nil {
		return err
	}
	defer end()
	return do(c.Context(), store)
}
