package write

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/tsdb"
)

// modelStore is the obvious store: a map from the printed label set to what it holds.
type modelStore struct {
	mu       sync.Mutex
	handles  map[string]tsdb.Series
	names    map[tsdb.Series]string
	lines    map[string][]string // series -> its items, as text
	metadata []string

	maxSeries      int           // 0 for no limit
	commitErr      error         // what Commit answers
	seriesErr      error         // what Series answers
	block          chan struct{} // Commit waits for it, unless nil
	commits, calls int
}

func newModel() *modelStore {
	return &modelStore{handles: map[string]tsdb.Series{}, names: map[tsdb.Series]string{}, lines: map[string][]string{}}
}

func (m *modelStore) batch() batch { return &modelBatch{m: m} }

// dump prints everything, series sorted, items in the order they came.
func (m *modelStore) dump() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name, items := range m.lines {
		out = append(out, name+" "+strings.Join(items, " "))
	}
	slices.Sort(out)
	return strings.Join(append(out, m.metadata...), "\n")
}

// Bounds of the times that the model takes, as a store's are.
const (
	modelNow  = int64(1_790_000_000_000)
	modelMaxt = modelNow + 48*3600*1000
)

// modelBatch holds what is not committed.
type modelBatch struct {
	m        *modelStore
	series   []string
	items    []string
	metadata []string
}

func (b *modelBatch) Series(lset labels.Labels) (tsdb.Series, error) {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	b.m.calls++
	if b.m.seriesErr != nil {
		return 0, b.m.seriesErr
	}
	name := strings.Clone(lset.String())
	s := b.m.handles[name]
	if s == 0 {
		if b.m.maxSeries > 0 && len(b.m.handles) >= b.m.maxSeries {
			return 0, &tsdb.OverloadError{Limit: fmt.Sprintf("%d active series", b.m.maxSeries), Reason: "too many active series", RetryAfter: 1e10, TooMany: true}
		}
		s = tsdb.Series(len(b.m.handles) + 1)
		b.m.handles[name], b.m.names[s] = s, name
	}
	return s, nil
}

func (b *modelBatch) Live(tsdb.Series) bool { return true }

func (b *modelBatch) add(s tsdb.Series, st, t int64, item string) error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	name := b.m.names[s]
	if t < 0 {
		return &tsdb.InputError{Culprit: fmt.Sprintf("%s at %d", name, t), Reason: "time is before 1970"}
	}
	if t > modelMaxt {
		return &tsdb.InputError{Culprit: fmt.Sprintf("%s at %d", name, t), Reason: "time is too far in the future", Limit: "now + 48h0m0s"}
	}
	if st != 0 {
		item = fmt.Sprintf("%s^%d", item, st)
	}
	b.series, b.items = append(b.series, name), append(b.items, fmt.Sprintf("%d:%s", t, item))
	return nil
}

func (b *modelBatch) Float(s tsdb.Series, st, t int64, v float64) error {
	item := fmt.Sprint(v)
	if math.IsNaN(v) {
		item = fmt.Sprintf("%016x", math.Float64bits(v))
	}
	return b.add(s, st, t, item)
}

func (b *modelBatch) Histogram(s tsdb.Series, st, t int64, h *histogram.Histogram) error {
	return b.add(s, st, t, fmt.Sprintf("hist(schema=%d hint=%d count=%d sum=%x spans=%v buckets=%v custom=%v)",
		h.Schema, h.CounterResetHint, h.Count, math.Float64bits(h.Sum), h.PositiveSpans, h.PositiveBuckets, h.CustomValues))
}

func (b *modelBatch) FloatHistogram(s tsdb.Series, st, t int64, h *histogram.FloatHistogram) error {
	return b.add(s, st, t, fmt.Sprintf("floathist(schema=%d hint=%d count=%g sum=%x spans=%v buckets=%v custom=%v)",
		h.Schema, h.CounterResetHint, h.Count, math.Float64bits(h.Sum), h.PositiveSpans, h.PositiveBuckets, h.CustomValues))
}

func (b *modelBatch) Exemplar(s tsdb.Series, e exemplar.Exemplar) error {
	return b.add(s, 0, e.Ts, fmt.Sprintf("exemplar(%g %s)", e.Value, strings.Clone(e.Labels.String())))
}

func (b *modelBatch) Metadata(family string, m metadata.Metadata) error {
	b.metadata = append(b.metadata, fmt.Sprintf("# %s %s %q %q", family, m.Type, m.Help, m.Unit))
	return nil
}

func (b *modelBatch) Commit(ctx context.Context) error {
	if b.m.block != nil {
		<-b.m.block
	}
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	b.m.commits++
	if b.m.commitErr != nil {
		return b.m.commitErr
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, name := range b.series {
		b.m.lines[name] = append(b.m.lines[name], b.items[i])
	}
	b.m.metadata = append(b.m.metadata, b.metadata...)
	return nil
}

func (b *modelBatch) Discard() { b.series, b.items, b.metadata = nil, nil, nil }
