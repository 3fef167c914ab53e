package oracle

import (
	"context"
	"math"
	"path/filepath"

	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/e2e/corpus"
	"github.com/varvedb/varve/tsdb"
)

// Store is the same data in one state.
type Store struct {
	Name string
	// Queryable is what both engines read.
	Queryable storage.Queryable
	db        *tsdb.DB
}

// Stores writes the data once for each state the store can be in: all in the
// head, all flushed, merged out of three flushes, half in a part and half in the
// head; the last one is the half once more, behind a storage that hides what it is.
func Stores(ctx context.Context, dir string, data []Series) ([]Store, error) {
	third := (DataEnd - DataStart) / 3
	plans := []struct {
		name  string
		cuts  []int64 // a flush when the samples before it are written
		merge bool
		rest  bool // write what comes after the last cut
	}{
		{"head", nil, false, true},
		{"flushed", []int64{math.MaxInt64}, false, false},
		{"merged", []int64{DataStart + third, DataStart + 2*third, math.MaxInt64}, true, false},
		{"half", []int64{DataStart + (DataEnd-DataStart)/2}, false, true},
	}
	var out []Store
	for _, p := range plans {
		db, err := tsdb.Open(filepath.Join(dir, p.name), tsdb.Options{Sync: tsdb.SyncOff()})
		if err != nil {
			return nil, err
		}
		store := tsdb.NewStorage(db)
		out = append(out, Store{p.name, store, db})
		from := int64(math.MinInt64)
		for _, cut := range p.cuts {
			if err := Append(ctx, store, data, from, cut); err != nil {
				return nil, err
			}
			if err := db.ForceFlush(ctx); err != nil {
				return nil, err
			}
			from = cut
		}
		if p.merge {
			if err := db.ForceMerge(ctx); err != nil {
				return nil, err
			}
		}
		if p.rest {
			if err := Append(ctx, store, data, from, math.MaxInt64); err != nil {
				return nil, err
			}
		}
	}
	last := out[len(out)-1]
	return append(out, Store{"hidden", corpus.Hidden{Storage: last.Queryable.(*tsdb.Storage)}, nil}), nil
}

// Close closes the store, if it is one of its own.
func (s Store) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}
