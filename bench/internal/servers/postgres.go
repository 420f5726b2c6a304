package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
)

// Connections are what a pool may open, and keeps: more than the relay uses at once, so that nobody waits for one or
// pays for reconnecting.
const Connections = 16

// Database is a schema of its own in PostgreSQL.
type Database struct {
	URL    string // connections made with it find the schema first
	Schema string
	admin  *sql.DB
}

// NewDatabase makes an empty schema. It first writes out what earlier work has left in memory (which takes the right
// to CHECKPOINT), so that the next one pays nobody's debts, and so that the pages that are filled next are not written
// to the log in full when they are changed.
func NewDatabase(ctx context.Context, address string) (*Database, error) {
	admin, err := OpenPool(address)
	if err != nil {
		return nil, err
	}
	d := &Database{Schema: newName(), admin: admin}
	d.URL, err = withSchema(address, d.Schema)
	if err == nil {
		err = d.exec(ctx, "CHECKPOINT", `CREATE SCHEMA "`+d.Schema+`"`)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a schema: %w", err), admin.Close())
	}
	return d, nil
}

// Ready brings statistics and visibility of the filled tables up to date.
func (d *Database) Ready(ctx context.Context) error {
	pool, err := OpenPool(d.URL)
	if err != nil {
		return err
	}
	rows, err := pool.QueryContext(ctx,
		"SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = $1", d.Schema)
	if err != nil {
		return errors.Join(fmt.Errorf("list the tables: %w", err), pool.Close())
	}
	tables, err := texts(rows)
	for _, table := range tables {
		if err == nil {
			_, err = pool.ExecContext(ctx, "VACUUM (ANALYZE) "+table)
		}
	}
	if err = errors.Join(err, pool.Close()); err != nil {
		return fmt.Errorf("vacuum the tables: %w", err)
	}
	return nil
}

// WAL returns how many bytes the server has ever written to its log, for everybody.
func (d *Database) WAL(ctx context.Context) (bytes float64, err error) {
	err = d.admin.QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").Scan(&bytes)
	if err != nil {
		return 0, fmt.Errorf("read the end of the log: %w", err)
	}
	return bytes, nil
}

// Drop removes the schema and all in it.
func (d *Database) Drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := d.exec(ctx, `DROP SCHEMA "`+d.Schema+`" CASCADE`)
	if err = errors.Join(err, d.admin.Close()); err != nil {
		return fmt.Errorf("drop schema %s: %w", d.Schema, err)
	}
	return nil
}

func (d *Database) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.admin.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// OpenPool opens a pool that keeps its connections. It connects to nothing yet.
func OpenPool(address string) (*sql.DB, error) {
	pool, err := sql.Open("pgx", address)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	pool.SetMaxOpenConns(Connections)
	pool.SetMaxIdleConns(Connections)
	return pool, nil
}

// withSchema returns address with schema as the search path.
func withSchema(address, schema string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("read the URL of PostgreSQL: it is malformed") // the cause would show the password
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// texts reads rows of one text column.
func texts(rows *sql.Rows) ([]string, error) {
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}
