package gormstore_test

import (
	"bytes"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// mariadbWays are settings of connections that change what a statement means or returns.
var mariadbWays = map[string]func(c *driver.Config){
	"interpolateParams": func(c *driver.Config) { c.InterpolateParams = true },
	"clientFoundRows":   func(c *driver.Config) { c.ClientFoundRows = true },
	"parseTime":         func(c *driver.Config) { c.ParseTime, c.Loc = true, time.Local },
	"multiStatements":   func(c *driver.Config) { c.MultiStatements = true },
	"latin1":            func(c *driver.Config) { c.Collation = "latin1_swedish_ci" },
	"time_zone":         func(c *driver.Config) { c.Params = map[string]string{"time_zone": "'+05:30'"} },
	"serializable":      func(c *driver.Config) { c.Params = map[string]string{"tx_isolation": "'SERIALIZABLE'"} },
	"read_committed":    func(c *driver.Config) { c.Params = map[string]string{"tx_isolation": "'READ-COMMITTED'"} },
	"lax":               func(c *driver.Config) { c.Params = map[string]string{"sql_mode": "''"} },
	"ansi": func(c *driver.Config) {
		c.Params = map[string]string{"sql_mode": "'ANSI,TRADITIONAL,NO_BACKSLASH_ESCAPES'"}
	},
}

func TestMariaDB_connections(t *testing.T) {
	for name, set := range mariadbWays {
		t.Run("with_"+name, func(t *testing.T) {
			t.Parallel()
			address := mariadbAddress(t)
			set(address)
			f := newFixture(t, open(t, mysql.Open(address.FormatDSN()), gorm.Config{}), 8, gormstore.Config{})
			f.livesThrough(f.orderOf)
		})
	}
	t.Run("with_prepared_statements", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openMariaDB(t, gorm.Config{PrepareStmt: true}), 8, gormstore.Config{})
		f.livesThrough(f.orderOf)
	})
	t.Run("with_one_connection", func(t *testing.T) {
		t.Parallel()
		f := onMariaDB(t)
		pool, err := f.db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		f.livesThrough(f.orderOf)
	})
	t.Run("with_tables_in_another_database_of_any_name", func(t *testing.T) {
		t.Parallel()
		address := mariadbAddress(t)
		db := open(t, mysql.Open(address.FormatDSN()), gorm.Config{})
		other := address.DBName + " `o'ther"
		quoted := "`" + address.DBName + " ``o'ther`"
		t.Cleanup(func() { exec(t, db, "DROP DATABASE "+quoted) })
		f := newFixture(t, db, 8, gormstore.Config{Schema: other, Name: "Mine"})
		f.livesThrough(f.orderOf)
		var n int
		if err := db.Raw("SELECT count(*) FROM " + quoted + ".Mine_messages").Row().Scan(&n); err != nil {
			t.Error(err)
		}
	})
}

// TestMariaDB_packets: what fits into max_allowed_packet one by one is stored together.
func TestMariaDB_packets(t *testing.T) {
	for name, c := range map[string]struct {
		interpolate bool
		size        int
	}{"prepared": {false, 8 << 20}, "interpolated": {true, 7 << 20}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := mariadbAddress(t)
			address.InterpolateParams = c.interpolate
			f := newFixture(t, open(t, mysql.Open(address.FormatDSN()), gorm.Config{}), 8, gormstore.Config{})
			var list []*outbox.Message
			for range 4 {
				m := message("k")
				m.Payload = bytes.Repeat([]byte{'\''}, c.size) // which takes two bytes in a text
				list = append(list, m)
			}
			f.store1(list...)
			claim := f.started().claim(func(r *outbox.ClaimRequest) { r.Bytes = 5 * c.size })
			if diff := cmp.Diff(ids(list...), idsOf(claim)); diff != "" {
				t.Fatalf("claimed (-want +got):\n%s", diff)
			}
			for _, m := range claim.Messages {
				if !bytes.Equal(m.Payload, list[0].Payload) {
					t.Error("a payload came back changed")
				}
			}
		})
	}
}

// TestMariaDB_time: sessions in zones a day apart agree on what time it is.
func TestMariaDB_time(t *testing.T) {
	t.Parallel()
	address := mariadbAddress(t)
	var fixtures []*fixture
	for _, zone := range []string{"'+13:00'", "'-11:00'"} {
		address.Params = map[string]string{"time_zone": zone}
		f := newFixture(t, open(t, mysql.Open(address.FormatDSN()), gorm.Config{}), 8, gormstore.Config{})
		fixtures = append(fixtures, f)
	}
	east, west := fixtures[0], fixtures[1]
	a, b := east.started(), west.relay()
	if lanes := b.acquire(); len(lanes.Held) != 0 || lanes.Expiry < testLease/2 || lanes.Expiry > testLease {
		t.Errorf("%d lanes, and %v until the other session ends; want none, and about %v", len(lanes.Held), lanes.Expiry,
			testLease)
	}
	due, later := message("a"), message("b")
	due.AvailableAt, later.AvailableAt = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	west.store1(due, later)
	if c := a.claim(); len(c.Messages) != 1 || c.Messages[0].ID != due.ID {
		t.Errorf("claimed %v, want the message that is due", idsOf(c))
	}
}

// TestMariaDB_migration: statements commit one by one, so a migration can end between any two of them.
func TestMariaDB_migration(t *testing.T) {
	for name, died := range map[string][]string{
		"before_its_first_table":       {"DELETE FROM outbox_migrations"},
		"before_the_rows_of_its_lanes": {"DELETE FROM outbox_migrations WHERE version_id > 0", "DELETE FROM outbox_lanes"},
		"in_its_first_version": {
			"DELETE FROM outbox_migrations WHERE version_id > 0", "DROP TABLE outbox_keys", "DROP TABLE outbox_blocks",
			"UPDATE outbox_meta SET version = 1",
		},
		"before_it_recorded_its_last": {"DELETE FROM outbox_migrations WHERE version_id > 1", "DROP TABLE outbox_inbox"},
	} {
		t.Run("goes_on_after_it_ended_"+name, func(t *testing.T) {
			t.Parallel()
			db := openMariaDB(t, gorm.Config{})
			newFixture(t, db, 8, gormstore.Config{})
			for _, text := range died {
				exec(t, db, text)
			}
			f := newFixture(t, open(t, db.Dialector, gorm.Config{}), 8, gormstore.Config{})
			f.livesThrough(f.orderOf)
			if n := f.count("outbox_lanes"); n != 8 {
				t.Errorf("%d lanes, want 8", n)
			}
		})
	}
}
