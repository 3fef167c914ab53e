package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
)

func TestSlowQueriesAreLogged(t *testing.T) {
	var out strings.Builder
	logger := slog.New(slog.NewTextHandler(&out, nil))
	require.Nil(t, logSlow(0, logger))
	log := logSlow(time.Second, logger)
	q := promqlx.QueryInfo{Text: `sum(up{a="b"})`, Start: time.Unix(0, 0), End: time.Unix(60, 0), Step: 15 * time.Second, Client: "10.0.0.1:1",
		Duration: time.Second - 1, Queued: time.Millisecond, Samples: 77, PeakSamples: 7, Memory: 1024}
	log(q)
	require.Empty(t, out.String())
	q.Duration = time.Second
	log(q)
	require.Contains(t, out.String(), `level=WARN msg="Slow query" query="sum(up{a=\"b\"})" start=1970-01-01T00:00:00Z end=1970-01-01T00:01:00Z step=15s `+
		"took=1s queued=1ms samples=77 peak_samples=7 memory=1024 client=10.0.0.1:1\n")
	q.Err = errors.New("too large")
	log(q)
	require.Contains(t, out.String(), `client=10.0.0.1:1 err="too large"`)
}
