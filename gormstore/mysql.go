package gormstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
)

// myNow is the database's clock in microseconds since 1970, when the statement began: no session's time zone moves it,
// and a statement that must look after a wait comes after the one that waits.
const myNow = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`

// mysql holds everything that is MariaDB's and MySQL's. What is written into a statement's text are numbers, and bytes
// in hexadecimal digits: a statement without arguments costs one round trip, one with them three.
type mysql struct {
	names  names
	sql    *strings.Replacer
	guard  atomic.Bool  // innodb_autoinc_lock_mode does not order inserts, see mysql_late.go
	packet atomic.Int64 // bytes of max_allowed_packet
}

func newMySQL(n names) *mysql { return &mysql{names: n, sql: n.replacer()} }

// text renders a statement, with pairs of old and new.
func (m *mysql) text(sql string, pairs ...string) string {
	return m.sql.Replace(replaceAll(replaceAll(sql, pairs...), "{now}", myNow))
}

// transact pins READ COMMITTED, see transactAt.
func (m *mysql) transact(ctx context.Context, pool *sql.DB, fn func(q querier) error) error {
	return transactAt(ctx, pool, sql.LevelReadCommitted, fn)
}

// transactAt runs fn again when InnoDB chose its transaction to end a deadlock, or ended its wait for a lock: nothing
// of it is stored then. An error of COMMIT is returned, because what became of it is unknown.
func transactAt(ctx context.Context, pool *sql.DB, level sql.IsolationLevel, fn func(q querier) error) error {
	const tries = 5
	for try := 1; ; try++ {
		tx, err := pool.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			return err
		}
		if err = fn(tx); err == nil {
			return tx.Commit()
		}
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, rollback)
		}
		if try == tries || !isMySQLConflict(err) || ctx.Err() != nil {
			return err
		}
	}
}

// Error numbers of MariaDB and MySQL.
const (
	myDuplicate   = 1062
	myNoTable     = 1146
	myLockTimeout = 1205
	myDeadlock    = 1213
)

func isMySQLConflict(err error) bool {
	code := mysqlCode(err)
	return code == myDeadlock || code == myLockTimeout
}

// mysqlCode is the error number of the driver's error in err, or 0. The driver gives it as a field alone; naming its
// type would link the driver into every program.
func mysqlCode(err error) int {
	for err != nil {
		v := reflect.Indirect(reflect.ValueOf(err))
		if v.Kind() == reflect.Struct && v.Type().Name() == "MySQLError" {
			if n := v.FieldByName("Number"); n.IsValid() && n.CanUint() {
				return int(n.Uint())
			}
		}
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			err = errors.Unwrap(err)
			continue
		}
		for _, e := range joined.Unwrap() {
			if code := mysqlCode(e); code != 0 {
				return code
			}
		}
		return 0
	}
	return 0
}

// Lists as SQL text. An empty list matches nothing.

func idList(ids ...uuid.UUID) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = "X'" + hex.EncodeToString(id[:]) + "'"
	}
	return orNull(list)
}

func numberList[T int | int64](numbers []T) string {
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = strconv.FormatInt(int64(n), 10)
	}
	return orNull(list)
}

func orNull(list []string) string {
	if len(list) == 0 {
		return "NULL"
	}
	return strings.Join(list, ", ")
}
