package gormstore

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	gormlite "github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// A worker that sets messages aside reads the pauses by the connection of its transaction. Another that wants to read
// them waits for a connection, and must not keep the first from reading meanwhile.
func TestReadPauses_with_one_connection(t *testing.T) {
	t.Parallel()
	address := filepath.Join(t.TempDir(), "app.db")
	db, err := gorm.Open(gormlite.Open(address), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := Migrate(t.Context(), db, MigrateConfig{}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(db, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.pool.Close()
	s.pool.SetMaxOpenConns(1)
	ses := newSession()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	other := make(chan error, 1)
	before := s.pool.Stats().WaitCount
	go func() {
		_, err := s.readPauses(ctx, ses, s.pool)
		other <- err
	}()
	for s.pool.Stats().WaitCount == before && ctx.Err() == nil {
		runtime.Gosched()
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.readPauses(ctx, ses, conn)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("the two wait for one another")
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := <-other; err != nil {
		t.Error(err)
	}
}
