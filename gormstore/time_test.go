package gormstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/storetest"
)

// clocks are what the database's clock shows while the process's clock is right, or the other way round.
var clocks = map[string]string{
	"database_behind_by_5_minutes": "interval '-5 minutes'",
	"database_ahead_by_5_minutes":  "interval '5 minutes'",
	"database_at_the_autumn_change_of_New_York": fmt.Sprintf(
		"timestamptz '2026-11-01 05:59:59Z' - timestamptz '%s'", time.Now().UTC().Format(time.RFC3339)),
}

// zones are of the session; a server's own zone is what sessions have that name none.
var zones = []string{"Asia/Kolkata", "America/New_York"}

// timedCases are the promises that rest on the clock alone.
var timedCases = []string{
	"lanes/of_an_expired_session_are_taken_and_it_never_lives_again", "lanes/are_kept_by_renewal_alone",
	"recovery/turns_a_dead_sessions_claim_into_suspects", "recovery/is_announced_by_the_time_that_is_left",
	"settle/waits_as_long_as_it_was_told",
}

// withClock is a database whose clock is wrong by offset: its functions come before the server's own.
func withClock(t testing.TB, zone, offset string) *gorm.DB {
	t.Helper()
	address := quick(t)
	admin := open(t, postgres.Open(address), gorm.Config{})
	for _, now := range []string{"clock_timestamp", "now"} {
		exec(t, admin, fmt.Sprintf(`CREATE FUNCTION %s() RETURNS timestamptz LANGUAGE sql AS
			'SELECT pg_catalog.%s() + (%s)'`, now, now, strings.ReplaceAll(offset, "'", "''")))
	}
	var schema string
	if err := admin.Raw("SELECT current_schema()").Row().Scan(&schema); err != nil {
		t.Fatal(err)
	}
	address = withParameter(t, address, "search_path", schema+", pg_catalog")
	options := "-csynchronous_commit=off -cTimeZone=" + zone
	return open(t, postgres.Open(withParameter(t, address, "options", options)), gorm.Config{})
}

func TestTime(t *testing.T) {
	for name, offset := range clocks {
		for _, zone := range zones {
			t.Run(name+"_in_"+zone, func(t *testing.T) {
				t.Parallel()
				for _, c := range storetest.Cases() {
					if slices.Contains(timedCases, c.Name) {
						t.Run(c.Name, func(t *testing.T) {
							t.Parallel()
							s := newFixture(t, withClock(t, zone, offset), 16, gormstore.Config{}).store
							c.Check(&storetest.Fixture{T: t, Store: conformant{s, false}})
						})
					}
				}
				t.Run("of_a_scheduled_message", func(t *testing.T) {
					t.Parallel()
					newFixture(t, withClock(t, zone, offset), 8, gormstore.Config{}).waitsForItsTime()
				})
			})
		}
	}
	t.Run("is_never_the_process's", func(t *testing.T) {
		t.Parallel()
		seen := &arguments{}
		pool, err := otelsql.Open("pgx", quick(t), otelsql.WithInstrumentAttributesGetter(seen.note))
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, open(t, postgres.New(postgres.Config{Conn: pool}), gorm.Config{}), 8, gormstore.Config{})
		seen.values = nil // business rows and migrations are others' business
		f.livesThrough(func(*gormstore.Tx, string) error { return nil })
		seen.check(t)
	})
}

// waitsForItsTime schedules by the database's clock. The instants of the autumn change have one wall clock time twice.
func (f *fixture) waitsForItsTime() {
	f.Helper()
	now := f.clock()
	past, soon, later := message("past"), message("soon"), message("later")
	past.AvailableAt, later.AvailableAt = now.Add(-time.Hour), now.Add(time.Hour)
	soon.AvailableAt = now.Add(1500 * time.Millisecond)
	f.store1(past, soon, later)
	r := f.started()
	var got []uuid.UUID
	f.eventually("the message to be due", func() bool {
		c := r.claim()
		if len(c.Messages) == 0 {
			return false
		}
		at, last := f.clock(), c.Messages[len(c.Messages)-1]
		got = append(got, idsOf(c)...)
		r.settle(c, all(outbox.Delivered))
		if last.ID != soon.ID {
			return false
		}
		if at.Before(soon.AvailableAt) {
			f.Errorf("claimed at %v, want the message to wait until %v", at, soon.AvailableAt)
		}
		if got := last.AvailableAt; got.Sub(soon.AvailableAt).Abs() >= time.Microsecond {
			f.Errorf("AvailableAt came back as %v, want %v", got, soon.AvailableAt)
		}
		return true
	})
	if diff := cmp.Diff(ids(past, soon), got); diff != "" {
		f.Errorf("claimed (-want +got):\n%s", diff)
	}
	records, err := f.store.Find(f.Context(), outbox.Filter{Status: outbox.StatusScheduled}, 0, 10)
	if err != nil || len(records) != 1 || records[0].DueIn <= 50*time.Minute || records[0].DueIn > time.Hour {
		f.Errorf("found %+v, %v; want one message that is due within the hour", records, err)
	}
}

// clock is what the database's clock shows.
func (f *fixture) clock() (now time.Time) {
	f.Helper()
	f.do(f.db.Raw("SELECT clock_timestamp()").Row().Scan(&now))
	return now
}

// arguments are all that was sent beside the texts of statements.
type arguments struct {
	mu     sync.Mutex
	values []any
}

func (a *arguments) note(_ context.Context, _ otelsql.Method, _ string, args []driver.NamedValue) []attribute.KeyValue {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, arg := range args {
		a.values = append(a.values, arg.Value)
	}
	return nil
}

var number = regexp.MustCompile(`\b[0-9]{10,19}\b`)

// check finds a time, and a number that is one: of seconds to nanoseconds since 1970, within a day of now.
func (a *arguments) check(t testing.TB) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.values) < 100 {
		t.Errorf("saw %d arguments only", len(a.values))
	}
	for _, v := range a.values {
		switch v.(type) {
		case time.Time, *time.Time, sql.NullTime:
			t.Errorf("the time %v was sent", v)
		}
		for _, text := range number.FindAllString(fmt.Sprint(v), -1) {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				continue
			}
			for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
				day := int64(24 * time.Hour / unit)
				if now := time.Now().UnixNano() / int64(unit); n > now-day && n < now+day {
					t.Errorf("%v was sent, which holds the time %d", v, n)
				}
			}
		}
	}
}
