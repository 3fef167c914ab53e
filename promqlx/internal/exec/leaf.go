package exec

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// leaf reads the series of one selector, between two times.
type leaf struct {
	q          *query
	sel        *plan.Selector
	mint, maxt int64
	hints      storage.SelectHints
	scope      scope

	series series
	ahead  *opened // that series is of; nil if the leaf opened it
	env    row.Env // of the goroutine that emits
	read   int     // samples
	known  int     // samples that were not read, since statistics told what they come to
}

// open finds the series.
func (l *leaf) open(ctx context.Context) error {
	l.hints.Start, l.hints.End = l.mint, l.maxt
	t := l.traceSelect()
	if l.ahead = l.q.openedFor(l.sel); l.ahead != nil {
		l.series = l.ahead.series
	} else {
		s, err := l.q.find(ctx, &l.hints, l.sel.Matchers)
		if err != nil {
			return err
		}
		l.series = s
		l.q.open = append(l.q.open, s)
	}
	s := l.series
	t.Donef("%d series", s.len())
	l.scope.stats.IncrementSeries(int64(s.len()))
	if l.scope.kept > 0 {
		l.q.rows = s.len()
	}
	l.q.annos.Merge(s.warnings())
	if l.q.NoMetadata && s.metadata() {
		return ErrMetadata
	}
	if l.scope.keys != nil {
		l.scope.keys.find(s)
	}
	return l.expect(ctx)
}

// worthExpecting is how many bytes there must be to wait for.
const worthExpecting = 1 << 20

// expect waits for the memory of the rows of all series, if they are kept: it
// cannot be said yet which of them have samples.
func (l *leaf) expect(ctx context.Context) error {
	n := l.scope.kept * int64(l.series.len())
	if n < worthExpecting || l.q.expected {
		return nil
	}
	l.q.expected = true
	t := l.scope.trace.Start("wait for %d bytes", n)
	defer t.Done()
	l.q.pass.Leave()
	if err := l.q.Meter.Expect(ctx, n); err != nil {
		return err
	}
	return l.q.pass.Take(ctx)
}

// close lets go of the series. What damage was met while they were read ends
// the query.
func (l *leaf) close(err error) error {
	if l.series == nil {
		return err
	}
	l.traceRead()
	if err == nil {
		err = l.series.failure()
	}
	if err == nil {
		l.q.annos.Merge(l.series.warnings())
	}
	if closeErr := l.letGo(); err == nil {
		err = closeErr
	}
	return err
}

// letGo closes the series, unless others read them too.
func (l *leaf) letGo() error {
	if l.ahead != nil {
		return l.ahead.done(l.sel)
	}
	l.q.open = slices.DeleteFunc(l.q.open, func(s series) bool { return s == l.series })
	return l.series.close()
}

// maker computes the row of one series out of its samples. out is empty.
type maker interface {
	row(i int, s *tsdb.Samples, out *row.Row) error
}

// reader makes rows of series, for one goroutine.
type reader struct {
	leaf  *leaf
	maker maker
	*bench
	visits *visits  // set if histograms are to keep no buckets
	last   bool     // the last sample is enough
	read   int      // samples so far
	work   int      // what it took, in samples to be read
	stats  *statist // asked first; may be nil
}

// row makes the row of series i. It is left empty if nothing was found.
func (r *reader) row(i int, out *row.Row) error {
	l, s := r.leaf, &r.samples
	if r.stats != nil && !r.last {
		ok, err := r.stats.row(i, out)
		if r.work += r.stats.work; ok && !out.Empty() {
			l.name(i, out)
		}
		if ok || err != nil {
			return err
		}
	}
	s.Reset()
	read := l.series.read
	if r.last {
		read = l.series.last
	}
	if err := read(i, l.mint, l.maxt, s); err != nil {
		return err
	}
	n := len(s.T) + len(s.HT)
	r.work += n
	if r.read += n; n == 0 {
		return nil
	}
	if err := l.q.Meter.Samples(int64(n)); err != nil {
		return err
	}
	defer l.q.Meter.Samples(int64(-n)) // giving back cannot fail
	if l.q.Hints != nil && len(s.H) > 0 && (r.visits != nil || takesHints(l.hints.Func)) {
		l.q.Hints.Store(true)
	}
	if r.visits != nil {
		r.visits.statsOnly(s)
	}
	if err := r.maker.row(i, s, out); err != nil {
		return err
	}
	if !out.Empty() {
		l.name(i, out)
	}
	return nil
}

// takesHints tells whether a function over windows, or none, may look at the hint of
// counter resets of the first histogram in a window. (That of a later one is about
// the one before it, which is read in any case.)
func takesHints(fn string) bool {
	switch fn {
	case "rate", "increase", "delta", "irate", "idelta", "changes", "resets", "count_over_time", "present_over_time", "absent_over_time":
		return false
	}
	return true
}

// count adds what a reader read.
func (l *leaf) count(r *reader) {
	l.read += r.read
	if r.stats != nil {
		l.read += r.stats.read
		l.known += r.stats.known
	}
}

// each makes a row of each series and emits those that are not empty, in order.
// work starts one reader, with an environment and a scope of its own.
func (l *leaf) each(ctx context.Context, work func(*row.Env, scope, *bench) *reader, emit func(*row.Row) error) error {
	l.env = l.q.environment(l.scope.Grid)
	env := &l.env
	defer l.q.note(env)
	b := l.q.Memory.getBench()
	defer l.q.Memory.putBench(b)
	b.out.Resize(l.scope.N)
	r, out := work(env, l.scope, b), &b.out
	defer l.count(r)
	for i := range l.series.len() {
		if i&15 == 0 {
			if err := l.q.pause(ctx); err != nil {
				return err
			}
			if i > 0 && l.parallel(i, r.work) {
				return l.share(ctx, i, work, emit)
			}
		}
		out.Reset()
		if err := r.row(i, out); err != nil {
			return err
		}
		if out.Empty() {
			continue
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// name gives a row its labels, the number of its group, or both: annotations of
// histograms name the metric.
func (l *leaf) name(i int, out *row.Row) {
	keyed := l.scope.keys != nil && l.scope.keys.ok
	if keyed {
		out.Key = int(l.scope.keys.of[i])
	}
	if l.sel.Labels == nil || len(l.sel.Labels) > 0 && !keyed || out.Histograms() {
		out.Labels = l.series.labels(i)
	}
}

// keys are the groups of an aggregation right above a leaf, found by the
// columns of an index rather than by labels.
type keys struct {
	by []string // sorted, without metadata labels

	ok     bool // the store has columns
	of     []uint32
	groups []labels.Labels
}

// labelsOf returns what tells the labels of a group, nil if there are no keys.
func (k *keys) labelsOf() func(key int) labels.Labels {
	if k == nil {
		return nil
	}
	return func(key int) labels.Labels { return k.groups[key] }
}

// find numbers the groups of the series, in the order they first appear.
func (k *keys) find(s series) {
	n := s.len()
	k.of = make([]uint32, n)
	if len(k.by) == 0 {
		k.ok, k.groups = true, []labels.Labels{labels.EmptyLabels()}
		return
	}
	columns := make([]tsdb.Column, len(k.by))
	for i, name := range k.by {
		if columns[i], k.ok = s.column(name); !k.ok {
			return
		}
	}
	groups := 1
	for i, c := range columns {
		groups = k.refine(c, groups, i == 0)
	}
	k.label(columns, groups)
}

// refine splits the groups that there are by one more column.
func (k *keys) refine(c tsdb.Column, groups int, first bool) int {
	seen, next := map[uint64]uint32{}, uint32(0)
	var dense []uint32 // of the first column, by value
	if first {
		dense = make([]uint32, c.Len())
	}
	for i := range k.of {
		ord := c.Ordinal(i)
		if first {
			if dense[ord] == 0 {
				next++
				dense[ord] = next
			}
			k.of[i] = dense[ord] - 1
			continue
		}
		pair := uint64(k.of[i])<<32 | uint64(ord)
		id, ok := seen[pair]
		if !ok {
			id = next
			seen[pair] = id
			next++
		}
		k.of[i] = id
	}
	return int(next)
}

// label makes the label set of each group out of its first series.
func (k *keys) label(columns []tsdb.Column, groups int) {
	k.groups = make([]labels.Labels, 0, groups)
	b := labels.NewScratchBuilder(len(k.by))
	for i, id := range k.of {
		if int(id) < len(k.groups) {
			continue
		}
		b.Reset()
		for j, c := range columns {
			if j > 0 && k.by[j] == k.by[j-1] {
				continue // named twice
			}
			if v := c.Value(c.Ordinal(i)); v != "" {
				b.Add(k.by[j], v)
			}
		}
		k.groups = append(k.groups, b.Labels())
	}
}
