package corpus

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/tsdb"
)

// Merged is a storage whose queries read merged parts only: what was appended
// since the last query is flushed and merged before the next one.
type Merged struct {
	*tsdb.Storage
	db    *tsdb.DB
	dirty atomic.Bool
}

// NewMerged wraps a store.
func NewMerged(db *tsdb.DB) *Merged { return &Merged{Storage: tsdb.NewStorage(db), db: db} }

// AppenderV2 notes that there is something to flush.
func (s *Merged) AppenderV2(ctx context.Context) storage.AppenderV2 {
	s.dirty.Store(true)
	return s.Storage.AppenderV2(ctx)
}

// Querier flushes and merges first.
func (s *Merged) Querier(mint, maxt int64) (storage.Querier, error) {
	store, err := s.Settle(context.Background())
	if err != nil {
		return nil, err
	}
	return store.Querier(mint, maxt)
}

// Settle flushes and merges, and returns the storage below.
func (s *Merged) Settle(ctx context.Context) (*tsdb.Storage, error) {
	if s.dirty.Swap(false) {
		if err := s.db.ForceFlush(ctx); err != nil {
			return nil, err
		}
		if err := s.db.ForceMerge(ctx); err != nil {
			return nil, err
		}
	}
	return s.Storage, nil
}

// Split is a storage that commits a few samples at a time and flushes after
// every second commit, so that most series lie in many parts and in the head.
type Split struct {
	*tsdb.Storage
	db      *tsdb.DB
	size    int
	commits int
}

// NewSplit wraps a store; size is the number of samples of a commit.
func NewSplit(db *tsdb.DB, size int) *Split {
	return &Split{Storage: tsdb.NewStorage(db), db: db, size: size}
}

// AppenderV2 returns an appender that commits early.
func (s *Split) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return &splitAppender{AppenderV2: s.Storage.AppenderV2(ctx), ctx: ctx, storage: s}
}

// Settle returns the storage below.
func (s *Split) Settle(context.Context) (*tsdb.Storage, error) { return s.Storage, nil }

type splitAppender struct {
	storage.AppenderV2
	ctx     context.Context
	storage *Split
	count   int
}

func (a *splitAppender) Append(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64,
	h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AppendV2Options,
) (storage.SeriesRef, error) {
	if a.count == a.storage.size {
		if err := a.Commit(); err != nil {
			return 0, err
		}
		a.AppenderV2, a.count = a.storage.Storage.AppenderV2(a.ctx), 0
	}
	a.count++
	return a.AppenderV2.Append(ref, ls, st, t, v, h, fh, opts)
}

func (a *splitAppender) Commit() error {
	if err := a.AppenderV2.Commit(); err != nil {
		return err
	}
	a.storage.commits++
	if a.storage.commits%2 == 0 {
		return a.storage.db.ForceFlush(a.ctx)
	}
	return nil
}

// Shuffled is a storage that appends the samples of a commit in a random
// order: samples may come at any time.
type Shuffled struct {
	*tsdb.Storage
	rand *rand.Rand
}

// NewShuffled wraps a store.
func NewShuffled(db *tsdb.DB, seed uint64) *Shuffled {
	return &Shuffled{Storage: tsdb.NewStorage(db), rand: rand.New(rand.NewPCG(seed, 0))}
}

// AppenderV2 returns an appender that keeps everything until Commit.
func (s *Shuffled) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return &shuffledAppender{AppenderV2: s.Storage.AppenderV2(ctx), rand: s.rand}
}

// Settle returns the storage below.
func (s *Shuffled) Settle(context.Context) (*tsdb.Storage, error) { return s.Storage, nil }

type shuffledAppender struct {
	storage.AppenderV2
	rand  *rand.Rand
	calls []func() error
}

func (a *shuffledAppender) Append(_ storage.SeriesRef, ls labels.Labels, st, t int64, v float64,
	h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AppendV2Options,
) (storage.SeriesRef, error) {
	if h != nil {
		h = h.Copy()
	}
	if fh != nil {
		fh = fh.Copy()
	}
	opts.Exemplars = slices.Clone(opts.Exemplars)
	a.calls = append(a.calls, func() error {
		_, err := a.AppenderV2.Append(0, ls, st, t, v, h, fh, opts)
		return err
	})
	return 0, nil
}

func (a *shuffledAppender) Commit() error {
	a.rand.Shuffle(len(a.calls), func(i, j int) { a.calls[i], a.calls[j] = a.calls[j], a.calls[i] })
	for _, call := range a.calls {
		if err := call(); err != nil {
			return err
		}
	}
	return a.AppenderV2.Commit()
}
