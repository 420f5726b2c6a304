package kafka

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clientLogger writes the client's own messages one level lower than the client sees them: while a broker
// is away it warns several times a second, and every failed message says so in its Result anyway.
type clientLogger struct{ to *slog.Logger }

func (l clientLogger) Level() kgo.LogLevel {
	if l.to.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelWarn
	}
	return kgo.LogLevelError
}

func (l clientLogger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	as := slog.LevelDebug
	if level == kgo.LogLevelError {
		as = slog.LevelWarn
	}
	l.to.Log(context.Background(), as, "kafka client", append([]any{"says", msg}, keyvals...)...)
}
