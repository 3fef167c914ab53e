package part

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

const (
	dayStart = int64(1790035200000) // 2026-09-22T00:00:00Z
	staleNaN = 0x7ff0000000000002
)

// sliceCursor hands out spans that lie in memory.
type sliceCursor struct {
	spans []block.Span
	at    int
	err   error
}

func (c *sliceCursor) Next() bool {
	c.at++
	return c.at <= len(c.spans)
}
func (c *sliceCursor) Span() *block.Span { return &c.spans[c.at-1] }
func (c *sliceCursor) Err() error        { return c.err }

// testSeries is what goes into a part and must come back.
type testSeries struct {
	lset      labels.Labels
	spans     []block.Span
	exemplars []exemplar.Exemplar
}

func (s *testSeries) cursor() block.Cursor { return &sliceCursor{spans: s.spans} }

func writeAll(w *Writer, list []testSeries) error {
	for i := range list {
		if err := w.Add(list[i].lset, list[i].cursor()); err != nil {
			return err
		}
		if err := w.AddExemplars(list[i].lset, list[i].exemplars); err != nil {
			return err
		}
	}
	return nil
}

func writePart(t testing.TB, fs vfs.FS, dir string, opts WriterOptions, list []testSeries) Meta {
	t.Helper()
	w, err := Create(fs, dir, opts)
	require.NoError(t, err)
	require.NoError(t, writeAll(w, list))
	m, err := w.Commit(3, 9)
	require.NoError(t, err)
	return m
}

func openPart(t testing.TB, fs vfs.FS, dir string) *Part {
	t.Helper()
	p, err := Open(fs, dir)
	require.NoError(t, err)
	return p
}

// sample is any sample in a comparable form.
func sample(s *block.Span, i int) string {
	switch s.Kind {
	case block.KindHistogram:
		h := s.Histograms[i]
		return fmt.Sprintf("%d %d %d %d %d %x %x %d %v %v %v %v %v", s.Time(i), s.StartTime(i), h.CounterResetHint, h.Schema, h.Count,
			math.Float64bits(h.Sum), math.Float64bits(h.ZeroThreshold), h.ZeroCount, h.PositiveSpans, h.NegativeSpans, h.PositiveBuckets, h.NegativeBuckets, h.CustomValues)
	case block.KindFloatHistogram:
		h := s.FloatHistograms[i]
		return fmt.Sprintf("%d %d %d %d %x %x %x %x %v %v %x %x %v", s.Time(i), s.StartTime(i), h.CounterResetHint, h.Schema, math.Float64bits(h.Count),
			math.Float64bits(h.Sum), math.Float64bits(h.ZeroThreshold), math.Float64bits(h.ZeroCount), h.PositiveSpans, h.NegativeSpans, h.PositiveBuckets, h.NegativeBuckets, h.CustomValues)
	}
	return fmt.Sprintf("%d %d %016x", s.Time(i), s.StartTime(i), math.Float64bits(s.Float(i)))
}

func samplesOf(t testing.TB, c block.Cursor, mint, maxt int64) []string {
	t.Helper()
	out, err := collect(c, mint, maxt)
	require.NoError(t, err)
	return out
}

func collect(c block.Cursor, mint, maxt int64) ([]string, error) {
	var out []string
	for c.Next() {
		s := c.Span()
		for i := range s.Count {
			if at := s.Time(i); at >= mint && at <= maxt {
				out = append(out, sample(s, i))
			}
		}
	}
	return out, c.Err()
}

// randomSeries makes series of every kind, with gaps, several spans, start
// times and exemplars, in label order.
func randomSeries(r *rand.Rand, n, maxSamples int) []testSeries {
	var out []testSeries
	jitter := times(r, 200)
	for i := range n {
		s := testSeries{lset: labels.FromStrings("__name__", fmt.Sprintf("m%d", i%7), "i", fmt.Sprint(i), "host", fmt.Sprint(i%5))}
		at := dayStart
		for range r.IntN(4) {
			count := 1 + r.IntN(maxSamples)
			span := block.Span{Count: count, Kind: block.Kind(1 + max(0, r.IntN(5)-2)), Start: at, Step: 10 + int64(r.IntN(50))}
			if r.IntN(2) == 0 {
				span.Times = nil
				for k := range count {
					span.Times = append(span.Times, at+jitter[k%len(jitter)]+int64(k/len(jitter))*7000)
				}
			}
			at = span.MaxT() + 1
			if at >= dayStart+dayMillis {
				break
			}
			fillSpan(r, &span)
			s.spans = append(s.spans, span)
		}
		for k := range r.IntN(3) {
			s.exemplars = append(s.exemplars, exemplar.Exemplar{Labels: labels.FromStrings("trace_id", fmt.Sprint(r.Uint64())), Value: r.Float64(), Ts: dayStart + int64(k*1000), HasTs: k%2 == 0})
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b testSeries) int { return labels.Compare(a.lset, b.lset) })
	return out
}

func times(r *rand.Rand, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)*30 + r.Int64N(20)
	}
	return out
}

var specials = []uint64{0, 1 << 63, staleNaN, 0x7ff8000000000001, 0x7ff4000000000abc, 0x7ff0000000000000, 0xfff0000000000000, 1}

func fillSpan(r *rand.Rand, s *block.Span) {
	shape := r.IntN(5)
	v := float64(r.IntN(100))
	for i := range s.Count {
		switch s.Kind {
		case block.KindHistogram:
			s.Histograms = append(s.Histograms, randomHistogram(r))
		case block.KindFloatHistogram:
			s.FloatHistograms = append(s.FloatHistograms, randomHistogram(r).ToFloat(nil))
		default:
			s.Floats = append(s.Floats, value(r, shape, &v))
		}
		if shape == 1 {
			s.StartTimes = append(s.StartTimes, dayStart-int64(1000*(i%3)))
		}
	}
}

func value(r *rand.Rand, shape int, v *float64) float64 {
	switch shape {
	case 0:
		*v = min(100, max(0, *v+math.Trunc(r.NormFloat64())))
	case 1:
		*v += float64(r.IntN(1000))
	case 2:
		*v += 0.1
	case 3:
		return math.Float64frombits(specials[r.IntN(len(specials))])
	default:
		return r.NormFloat64()
	}
	return *v
}

func randomHistogram(r *rand.Rand) *histogram.Histogram {
	h := &histogram.Histogram{CounterResetHint: histogram.CounterResetHint(r.IntN(4)), Sum: r.NormFloat64(), Count: 30, Schema: int32(r.IntN(2))}
	h.PositiveSpans = []histogram.Span{{Offset: -1, Length: 2}, {Offset: 3, Length: 0}, {Offset: 1, Length: 1}}
	h.PositiveBuckets = []int64{r.Int64N(9), 1, 2}
	switch r.IntN(3) {
	case 0:
		h.Schema = histogram.CustomBucketsSchema
		h.PositiveSpans[0].Offset = 0
		h.CustomValues = []float64{0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	case 1:
		h.ZeroThreshold, h.ZeroCount = 0.001, 7
		h.NegativeSpans, h.NegativeBuckets = []histogram.Span{{Offset: 2, Length: 1}}, []int64{5}
	}
	return h
}

func isVersion(err error) bool { return errors.Is(err, block.ErrVersion) }

// loadAll makes a cursor that hands out loaded spans only.
func loadAll(c block.Cursor) block.Cursor { return &loading{cursor: c} }

type loading struct {
	cursor block.Cursor
	span   block.Span
	err    error
}

func (c *loading) Span() *block.Span { return &c.span }

func (c *loading) Err() error {
	if c.err != nil {
		return c.err
	}
	return c.cursor.Err()
}

func (c *loading) Next() bool {
	if c.err != nil || !c.cursor.Next() {
		return false
	}
	c.span = *c.cursor.Span()
	c.err = c.span.Load()
	return c.err == nil
}
