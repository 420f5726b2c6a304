package gormstore

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// schemaVersion is the version of the tables that this package's statements are written for.
const schemaVersion = 5

// meta is what the migration recorded.
type meta struct {
	found   bool
	version int
	lanes   int
	warning string // about the connection
}

// schema remembers the number of lanes once the tables have been checked.
type schema struct{ count atomic.Int64 }

// lanes checks the tables at first use, and returns the number of lanes.
func (s *schema) lanes(ctx context.Context, d dialect, q querier, log *slog.Logger) (int, error) {
	if n := s.count.Load(); n > 0 {
		return int(n), nil
	}
	m, report, err := inspectSchema(ctx, d, q)
	if err != nil {
		return 0, err
	}
	if err := report.Err(); err != nil {
		return 0, err
	}
	if s.count.Swap(int64(m.lanes)) == 0 {
		m.warn(ctx, log, report)
	}
	return m.lanes, nil
}

func (m meta) warn(ctx context.Context, log *slog.Logger, r SchemaReport) {
	if m.warning != "" {
		log.WarnContext(ctx, "outbox database needs another setting", "advice", m.warning)
	}
	for _, d := range r.Drift {
		log.WarnContext(ctx, "outbox tables differ from what was migrated, which may slow them", "difference", d)
	}
}

func (m meta) check() error {
	switch {
	case !m.found:
		return fmt.Errorf("%w: none found: run gormstore.Migrate with the same schema and name", ErrSchema)
	case m.version < schemaVersion:
		return fmt.Errorf("%w: version %d, want %d: run gormstore.Migrate", ErrSchema, m.version, schemaVersion)
	case m.version > schemaVersion:
		return fmt.Errorf("%w: version %d, want %d: update this program", ErrSchema, m.version, schemaVersion)
	}
	return nil
}
