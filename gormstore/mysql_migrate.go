package gormstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// mysqlName is what GORM calls both.
const mysqlName = "mysql"

func (*mysql) name() string            { return mysqlName }
func (*mysql) goose() database.Dialect { return database.DialectMySQL }

// tableExists compares names as the server stores them: with case, unless lower_case_table_names says otherwise.
func (m *mysql) tableExists(suffix string) string {
	schema, name := "DATABASE()", sqlText(m.names.prefix+"_"+suffix)
	if m.names.schema != "" {
		schema = sqlText(m.names.schema)
	}
	return fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = %s "+
		"AND (table_name = BINARY %s OR @@lower_case_table_names > 0 AND table_name = %s))", schema, name, name)
}

// sqlText is s as a string in a statement, in digits, which no mode of the server reads as anything else.
func sqlText(s string) string { return "_utf8mb4 x'" + hex.EncodeToString([]byte(s)) + "'" }

const (
	myMakeSchema = `CREATE DATABASE IF NOT EXISTS %s DEFAULT CHARACTER SET utf8mb4`

	// myVersions is the migration library's own table, which it would leave without its first row if it died between.
	myVersions = `CREATE TABLE IF NOT EXISTS %s (
  id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  version_id BIGINT NOT NULL,
  is_applied BOOLEAN NOT NULL,
  tstamp     DATETIME NULL DEFAULT CURRENT_TIMESTAMP
) ENGINE = InnoDB`
	myFirstVersion = `INSERT IGNORE INTO %s (id, version_id, is_applied) VALUES (1, 0, TRUE)`
)

func (m *mysql) newSchema(ctx context.Context, q querier) (string, error) {
	if m.names.schema == "" {
		return "", nil
	}
	const find = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = "
	var n int
	err := q.QueryRowContext(ctx, find+sqlText(m.names.schema)).Scan(&n)
	if err != nil || n > 0 {
		return "", err
	}
	return fmt.Sprintf(myMakeSchema, m.names.quote(m.names.schema)), nil
}

func (m *mysql) makeVersions(ctx context.Context, q querier) error {
	var exists bool
	err := q.QueryRowContext(ctx, m.tableExists("migrations")).Scan(&exists)
	if err == nil && !exists {
		_, err = q.ExecContext(ctx, fmt.Sprintf(myVersions, m.names.table("migrations")))
	}
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, fmt.Sprintf(myFirstVersion, m.names.table("migrations")))
	return err
}

// migrateOptions let one process migrate at a time.
func (m *mysql) migrateOptions() []goose.ProviderOption {
	return []goose.ProviderOption{goose.WithSessionLocker(migrationLock{m})}
}

type migrationLock struct{ *mysql }

func (l migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	return l.lock(ctx, conn, "migrations", 300)
}

func (l migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	return l.unlock(ctx, conn, "migrations")
}

var errLockWait = errors.New("waited in vain for a lock that others hold")

// lock takes a lock by name that the connection's end frees, too.
func (m *mysql) lock(ctx context.Context, q querier, suffix string, seconds int) error {
	var got sql.NullInt64
	text := fmt.Sprintf("SELECT GET_LOCK(%s, %d)", m.lockName(suffix), seconds)
	if err := q.QueryRowContext(ctx, text).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errLockWait
	}
	return nil
}

func (m *mysql) unlock(ctx context.Context, q querier, suffix string) error {
	_, err := q.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK("+m.lockName(suffix)+")")
	return err
}

// lockName is 32 characters for a table of this database: the server's lock names are its own, and short.
func (m *mysql) lockName(suffix string) string {
	schema := "DATABASE()"
	if m.names.schema != "" {
		schema = sqlText(m.names.schema)
	}
	return fmt.Sprintf("MD5(CONCAT('outbox ', %s, ' ', %s))", schema, sqlText(m.names.prefix+"_"+suffix))
}

// statements of a migration are run one by one: the driver takes no more by default.
func (*mysql) statements(text string) []string {
	text = strings.ReplaceAll(text, "{numbers}", myNumbers())
	var list []string
	for s := range strings.SplitSeq(text, ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// myNumbers counts from 0 to 4095; recursive queries are bound to 1000 steps.
func myNumbers() string {
	const digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 " +
		"UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7)"
	return "SELECT a.d + 8 * b.d + 64 * c.d + 512 * e.d AS i FROM " + digits + " a, " + digits + " b, " + digits + " c, " +
		digits + " e"
}

const myMeta = `
SELECT version, lanes, @@innodb_autoinc_lock_mode, @@max_allowed_packet FROM {meta}`

func (m *mysql) meta(ctx context.Context, q querier) (meta, error) {
	found := meta{found: true}
	var mode int
	var packet int64
	err := q.QueryRowContext(ctx, m.text(myMeta)).Scan(&found.version, &found.lanes, &mode, &packet)
	switch {
	case mysqlCode(err) == myNoTable, errors.Is(err, sql.ErrNoRows):
		return meta{}, nil
	case err != nil:
		return meta{}, err
	}
	const interleaved = 2
	m.guard.Store(mode == interleaved)
	m.packet.Store(packet)
	return found, nil
}
