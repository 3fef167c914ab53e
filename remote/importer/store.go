package importer

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/chunks"
)

// Store takes samples and selects series; FromDB makes one of a tsdb.DB.
type Store interface {
	Batch() Batch
	// Select returns the series that satisfy all matchers and may have samples
	// in [mint, maxt] (inclusive milliseconds), in label order. The caller
	// closes the View.
	Select(ctx context.Context, mint, maxt int64, matchers ...*labels.Matcher) (View, error)
}

// Batch collects samples and stores them together. It is for one goroutine and
// ends with Commit or Discard.
type Batch interface {
	// Add adds samples of one series. lset and the slices are the caller's
	// again when Add returns. refused says why some of the samples cannot be
	// stored at all, "" if all were taken; the others are in the batch. After an
	// error the batch must be discarded.
	Add(lset labels.Labels, times []int64, values []float64) (refused string, err error)
	// Len returns the number of samples so far.
	Len() int
	// Commit stores the samples, all or none.
	Commit(ctx context.Context) error
	Discard()
}

// View is a snapshot of selected series. It is for one goroutine.
type View interface {
	Len() int
	Labels(i int) labels.Labels
	// Cursor reads the samples of series i inside [mint, maxt].
	Cursor(i int, mint, maxt int64) chunks.Cursor
	Close()
}
