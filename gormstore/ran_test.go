package gormstore_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

// statements are what the server ran, with the plans that it really used and what these read, as auto_explain tells.
type statements struct {
	mu  sync.Mutex
	ran []statement
}

type statement struct {
	text string
	plan plan
}

// explained is a fixture on a single connection whose statements are noted.
func explained(t testing.TB) (*fixture, *statements) {
	t.Helper()
	options := "-csynchronous_commit=off -csession_preload_libraries=auto_explain -cauto_explain.log_min_duration=0" +
		" -cauto_explain.log_analyze=on -cauto_explain.log_buffers=on -cauto_explain.log_timing=off" +
		" -cauto_explain.log_format=json -cauto_explain.log_level=notice"
	config, err := pgx.ParseConfig(withParameter(t, postgresAddress(t), "options", options))
	if err != nil {
		t.Fatal(err)
	}
	noted := &statements{}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { noted.note(n.Message) }
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(1) // every statement is prepared once
	f := newFixture(t, open(t, postgres.New(postgres.Config{Conn: pool}), gorm.Config{}), 64, gormstore.Config{})
	return f, noted
}

func (s *statements) note(message string) {
	start := strings.IndexByte(message, '{')
	if !strings.Contains(message, "plan:") || start < 0 {
		return
	}
	var told struct {
		Text string `json:"Query Text"`
		Plan plan
	}
	if json.Unmarshal([]byte(message[start:]), &told) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, statement{told.Text, told.Plan})
}

// during returns what ran while act ran.
func (s *statements) during(act func()) []statement {
	s.mu.Lock()
	s.ran = nil
	s.mu.Unlock()
	act()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran
}
