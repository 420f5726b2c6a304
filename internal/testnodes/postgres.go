//go:build unix

package testnodes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// PostgresNode is a server of its own.
type PostgresNode struct {
	process
	port int
}

// Postgres starts a server, with further settings as its configuration file has them.
func Postgres(tb testing.TB, settings ...string) *PostgresNode {
	tb.Helper()
	n := &PostgresNode{port: freePort(tb)}
	home, bin, owner := folder(tb), postgresBin(tb), postgresUser(tb)
	if owner != nil {
		must(tb, os.Chown(home, int(owner.Uid), int(owner.Gid)))
	}
	data := filepath.Join(home, "data")
	initialize := exec.CommandContext(context.Background(), filepath.Join(bin, "initdb"),
		"-D", data, "-U", "postroom", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
	initialize.Dir, initialize.SysProcAttr = home, &syscall.SysProcAttr{Credential: owner}
	if out, err := initialize.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	n.process = process{
		folder: home, command: filepath.Join(bin, "postgres"), env: os.Environ(), owner: owner,
		args: append([]string{"-D", data}, options(append([]string{
			"listen_addresses=127.0.0.1", fmt.Sprintf("port=%d", n.port), "unix_socket_directories=", "max_connections=200",
		}, settings...))...),
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("PostgreSQL said:\n%s", n.tail())
		}
		n.end(tb, syscall.SIGQUIT)
	})
	n.Start(tb)
	return n
}

func options(settings []string) []string {
	var args []string
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

// postgresBin returns the folder of the newest server that is installed.
func postgresBin(tb testing.TB) string {
	tb.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	must(tb, err)
	if len(found) == 0 {
		path, err := exec.LookPath("postgres")
		must(tb, err)
		return filepath.Dir(path)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
}

// postgresUser is whom to run as, since the server refuses root; nil is the user of the tests.
func postgresUser(tb testing.TB) *syscall.Credential {
	tb.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	found, err := user.Lookup("postgres")
	must(tb, err)
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	must(tb, err)
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	must(tb, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// Address is where the server listens.
func (n *PostgresNode) Address() string { return address(n.port) }

// URL is the address of its database.
func (n *PostgresNode) URL() string {
	return fmt.Sprintf("postgres://postroom@%s/postgres?sslmode=disable", n.Address())
}

// Start starts the server and waits until it has recovered.
func (n *PostgresNode) Start(tb testing.TB) {
	tb.Helper()
	n.start(tb)
	n.await(tb, func(ctx context.Context) error {
		db, err := sql.Open("pgx", n.URL())
		if err != nil {
			return err
		}
		return errors.Join(db.PingContext(ctx), db.Close())
	})
}

// Abort ends the server without a checkpoint, as a crash does, so that it recovers when it starts.
func (n *PostgresNode) Abort(tb testing.TB) { tb.Helper(); n.end(tb, syscall.SIGQUIT) }
