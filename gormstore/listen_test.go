package gormstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testoutput"
)

// TestListen: where other processes cannot be heard, a warning says so once and the relay polls.
func TestListen(t *testing.T) {
	for name, c := range map[string]struct {
		control func(t *testing.T, address string) *sql.DB
		most    int
		want    string
	}{
		"through_a_pooler_that_lends_connections_by_the_transaction": {elsewhere, 0, "past any pooler"},
		"by_another_driver":                    {disguised, 0, "use pgx"},
		"with_a_pool_that_has_none_to_spare":   {none, 2, "let it be larger"},
		"with_a_control_pool_too_small_for_it": {single, 0, "let it be larger"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := postgresAddress(t)
			a := newFixture(t, open(t, postgres.Open(address), gorm.Config{}), 8, gormstore.Config{})
			log := new(testoutput.Buffer)
			control := c.control(t, address)
			b := a.process(address, gormstore.Config{Logger: slog.New(slog.NewTextHandler(log, nil)), Control: control})
			pool, err := b.db.DB()
			if err != nil {
				t.Fatal(err)
			}
			pool.SetMaxOpenConns(c.most)
			for range 2 {
				ctx, cancel := context.WithCancel(t.Context())
				woken := b.store.Wake(ctx)
				b.eventually("the warning", func() bool { return strings.Contains(log.String(), c.want) })
				b.enqueue("a")
				if got := b.woken(woken); len(got) != 1 {
					t.Errorf("woke lanes %v of this process, want one", got)
				}
				cancel()
				drainNews(woken)
			}
			if n := strings.Count(log.String(), "level=WARN"); n != 1 {
				t.Errorf("%d warnings, want one:\n%s", n, log.String())
			}
		})
	}
	t.Run("through_a_wrapper_that_can_be_asked_for_the_driver", func(t *testing.T) {
		t.Parallel()
		address := postgresAddress(t)
		a := newFixture(t, open(t, postgres.Open(address), gorm.Config{}), 8, gormstore.Config{})
		b := a.process(address, gormstore.Config{Control: wrapped(t, address, func(c driver.Conn) driver.Conn {
			return asked{c}
		})})
		heard := a.ear()
		woken := b.store.Wake(t.Context())
		b.eventually("the probe", func() bool { return len(heard()) > 0 })
		a.enqueue("a")
		if got := b.woken(woken); len(got) != 1 {
			t.Errorf("woke lanes %v, want one", got)
		}
	})
}

// elsewhere is a pool at which LISTEN succeeds and nothing arrives, as it is behind such a pooler: another database of
// the server.
func elsewhere(t *testing.T, address string) *sql.DB {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/postgres"
	return pgxPool(t, u.String())
}

func disguised(t *testing.T, address string) *sql.DB {
	return wrapped(t, address, func(c driver.Conn) driver.Conn { return struct{ driver.Conn }{c} })
}

func none(*testing.T, string) *sql.DB { return nil }

func single(t *testing.T, address string) *sql.DB {
	pool := pgxPool(t, address)
	pool.SetMaxOpenConns(1)
	return pool
}

func pgxPool(t *testing.T, address string) *sql.DB {
	return wrapped(t, address, func(c driver.Conn) driver.Conn { return c })
}

// wrapped is a pool whose connections are what wrap makes of pgx's.
func wrapped(t *testing.T, address string, wrap func(driver.Conn) driver.Conn) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector{stdlib.GetConnector(*config), wrap})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

type connector struct {
	driver.Connector
	wrap func(driver.Conn) driver.Conn
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.wrap(conn), nil
}

// asked is a connection such as tracing drivers make.
type asked struct{ driver.Conn }

func (a asked) Raw() driver.Conn { return a.Conn }
