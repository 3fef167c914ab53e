package gokitlog_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/internal/gokitlog"
)

// withoutTime logs text without the time, at debug and above.
func withoutTime(out *bytes.Buffer, min slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: min, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestLog(t *testing.T) {
	cases := []struct {
		log  func(l log.Logger) error
		want string
	}{
		{func(l log.Logger) error { return level.Debug(l).Log("msg", "a b", "n", 1) }, "level=DEBUG msg=\"a b\" n=1\n"},
		{func(l log.Logger) error { return level.Info(l).Log("msg", "x") }, "level=INFO msg=x\n"},
		{func(l log.Logger) error { return level.Warn(l).Log("msg", "x", "err", errors.New("no")) }, "level=WARN msg=x err=no\n"},
		{func(l log.Logger) error { return level.Error(l).Log("err", errors.New("no")) }, "level=ERROR msg=\"\" err=no\n"},
		{func(l log.Logger) error { return l.Log("msg", "no level", "level", "mine") }, "level=INFO msg=\"no level\" level=mine\n"},
		{func(l log.Logger) error { return l.Log("odd") }, "level=INFO msg=\"\" odd=(MISSING)\n"},
		{func(l log.Logger) error { return l.Log() }, "level=INFO msg=\"\"\n"},
		{func(l log.Logger) error {
			return log.With(l, "ts", log.DefaultTimestamp, "caller", log.DefaultCaller, "component", "b", "lazy", log.Valuer(func() any { return 7 })).Log("msg", "m")
		}, "level=INFO msg=m component=b lazy=7\n"},
		{func(l log.Logger) error { return level.Error(level.Debug(l)).Log("msg", "first one counts") }, "level=ERROR msg=\"first one counts\"\n"},
	}
	for _, c := range cases {
		var out bytes.Buffer
		require.NoError(t, c.log(gokitlog.New(withoutTime(&out, slog.LevelDebug))))
		require.Equal(t, c.want, out.String())
	}
}

func TestLevelsBelowTheHandlersAreDropped(t *testing.T) {
	var out bytes.Buffer
	l := gokitlog.New(withoutTime(&out, slog.LevelWarn))
	require.NoError(t, level.Info(l).Log("msg", "quiet"))
	require.Empty(t, out.String())
	require.NoError(t, level.Warn(l).Log("msg", "loud"))
	require.Equal(t, "level=WARN msg=loud\n", out.String())
}

func TestHandlerErrorsComeBack(t *testing.T) {
	l := gokitlog.New(slog.New(slog.NewTextHandler(failingWriter{}, nil)))
	require.ErrorContains(t, l.Log("msg", "x"), "disk full")
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }
