package gormstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	probeTimeout = 5 * time.Second
	listenPing   = time.Minute // of silence, before the connection is asked whether it is still there
	pingTimeout  = 10 * time.Second
)

// pgChannel names the channel by the true schema and the name of the tables, bounded as identifiers are.
const pgChannel = `(SELECT 'outbox_' || md5(n.nspname || '.' || c.relname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass({literal}))`

const pgAnnounce = `SELECT pg_notify({channel}, $1)`

func (p *postgres) announce(ctx context.Context, q querier, words string) error {
	_, err := q.ExecContext(ctx, p.sql.announce, words)
	return err
}

// attend keeps a connection to itself. It never goes back to its pool, where it would go on listening.
func (p *postgres) attend(ctx context.Context, s *Store, ready func(), heard func(string)) error {
	pool := s.control()
	if !s.spare(pool) {
		return fmt.Errorf("%w: the connection pool is too small to spare one for listening: let it be larger, "+
			"or give Config.Control", errDeaf)
	}
	var channel string
	if err := s.pool.QueryRowContext(ctx, p.sql.channel).Scan(&channel); err != nil {
		return fmt.Errorf("name the channel: %w", err)
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		listener, ok := pgxConn(c)
		if !ok {
			return fmt.Errorf("%w: the driver's connection is a %T: use pgx (gorm.io/driver/postgres does), "+
				"or give a Config.Control that does", errDeaf, c)
		}
		return errors.Join(driver.ErrBadConn, p.hear(ctx, listener, channel, s, ready, heard))
	})
}

// pgxConn finds pgx's connection, also in a wrapper that can be asked for what it wraps.
func pgxConn(c any) (*pgx.Conn, bool) {
	for {
		switch wrapped := c.(type) {
		case *stdlib.Conn:
			return wrapped.Conn(), true
		case interface{ Raw() driver.Conn }:
			c = wrapped.Raw()
		default:
			return nil, false
		}
	}
}

func (p *postgres) hear(
	ctx context.Context, conn *pgx.Conn, channel string, s *Store, ready func(), heard func(string),
) error {
	if _, err := conn.Exec(ctx, "LISTEN "+p.names.quote(channel)); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := p.probe(ctx, conn, s, heard); err != nil {
		return err
	}
	ready()
	for {
		words, err := next(ctx, conn)
		if err != nil {
			return fmt.Errorf("wait for news: %w", err)
		}
		heard(words)
	}
}

// probe speaks through the ordinary pool and waits to hear it. Behind a pooler that lends connections by the
// transaction, LISTEN succeeds and nothing ever comes.
func (p *postgres) probe(ctx context.Context, conn *pgx.Conn, s *Store, heard func(string)) error {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	probe := fmt.Sprint(s.id, " ", wordProbe, " ", uuid.New())
	if err := p.announce(limited, s.pool, probe); err != nil {
		return fmt.Errorf("announce a probe: %w", err)
	}
	for {
		n, err := conn.WaitForNotification(limited)
		switch {
		case err != nil && ctx.Err() == nil && limited.Err() != nil:
			return fmt.Errorf("%w: nothing arrives on the connection that listens: "+
				"let Config.Control connect to the server itself, past any pooler", errDeaf)
		case err != nil:
			return fmt.Errorf("wait for the probe: %w", err)
		case n.Payload == probe:
			return nil
		}
		heard(n.Payload)
	}
}

// next waits for the next words, however long, as long as the server is there.
func next(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		limited, cancel := context.WithTimeout(ctx, listenPing)
		n, err := conn.WaitForNotification(limited)
		cancel()
		switch {
		case err == nil:
			return n.Payload, nil
		case ctx.Err() != nil || conn.IsClosed() || !errors.Is(err, context.DeadlineExceeded):
			return "", err
		}
		if err := ping(ctx, conn); err != nil {
			return "", err
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	limited, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return conn.Ping(limited)
}
