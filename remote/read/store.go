package read

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/chunks"
)

// Store selects series; FromDB makes one of a tsdb.DB.
type Store interface {
	// Select returns the series that satisfy all matchers and may have samples
	// in [mint, maxt] (inclusive milliseconds), in label order. The caller
	// closes the View.
	Select(ctx context.Context, mint, maxt int64, matchers ...*labels.Matcher) (View, error)
}

// View is a snapshot of selected series. It is for one goroutine.
type View interface {
	Len() int
	Labels(i int) labels.Labels
	// Cursor reads the samples of series i inside [mint, maxt].
	Cursor(i int, mint, maxt int64) chunks.Cursor
	Close()
}
