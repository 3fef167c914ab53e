package main

import (
	"log/slog"
	"time"

	"github.com/varvedb/varve/promqlx"
)

// logSlow logs queries that took longer than a threshold, one line each; 0 logs
// none.
func logSlow(threshold time.Duration, logger *slog.Logger) func(promqlx.QueryInfo) {
	if threshold <= 0 {
		return nil
	}
	return func(q promqlx.QueryInfo) {
		if q.Duration < threshold {
			return
		}
		args := []any{
			"query", q.Text, "start", q.Start.UTC().Format(time.RFC3339Nano), "end", q.End.UTC().Format(time.RFC3339Nano), "step", q.Step,
			"took", q.Duration, "queued", q.Queued, "samples", q.Samples, "peak_samples", q.PeakSamples, "memory", q.Memory, "client", q.Client,
		}
		if q.Err != nil {
			args = append(args, "err", q.Err)
		}
		logger.Warn("Slow query", args...)
	}
}
