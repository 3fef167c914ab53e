// Package gokitlog lets libraries that log through go-kit/log write to slog.
package gokitlog

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// New returns a go-kit logger that hands its records to logger. A go-kit
// level becomes the record's level (info when there is none), the text under
// "msg" its message, and all other pairs its attributes in order; times and
// callers that the library adds are left to slog. It may be used by many
// goroutines at once if logger may.
func New(logger *slog.Logger) log.Logger { return forwarder{logger.Handler()} }

type forwarder struct{ handler slog.Handler }

// Log implements log.Logger.
func (f forwarder) Log(keyvals ...any) error {
	ctx := context.Background()
	lvl := levelOf(keyvals)
	if !f.handler.Enabled(ctx, lvl) {
		return nil
	}
	record := slog.NewRecord(time.Now(), lvl, "", 0)
	for i := 0; i < len(keyvals); i += 2 {
		key, value := keyvals[i], any(log.ErrMissingValue)
		if i+1 < len(keyvals) {
			value = resolve(keyvals[i+1])
		}
		_, isLevel := value.(level.Value)
		switch name := fmt.Sprint(key); {
		case isLevel, name == "ts", name == "caller":
		case name == "msg" && record.Message == "":
			record.Message = fmt.Sprint(value)
		default:
			record.AddAttrs(slog.Any(name, value))
		}
	}
	return f.handler.Handle(ctx, record)
}

// resolve calls the lazy values that log.With binds.
func resolve(value any) any {
	if v, ok := value.(log.Valuer); ok {
		return v()
	}
	return value
}

// levelOf returns the first level among the pairs, as go-kit's filters do.
func levelOf(keyvals []any) slog.Level {
	for i := 1; i < len(keyvals); i += 2 {
		switch keyvals[i] {
		case level.DebugValue():
			return slog.LevelDebug
		case level.InfoValue():
			return slog.LevelInfo
		case level.WarnValue():
			return slog.LevelWarn
		case level.ErrorValue():
			return slog.LevelError
		}
	}
	return slog.LevelInfo
}
