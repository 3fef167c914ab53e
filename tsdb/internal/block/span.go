package block

import (
	"math"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Kind says what the samples of a span are. A span holds one kind only; a
// series that changes its kind continues in another span.
type Kind uint8

// The kinds of samples a series can hold. Their numbers are written to disk.
const (
	KindFloat          Kind = 1
	KindHistogram      Kind = 2
	KindFloatHistogram Kind = 3
)

func (k Kind) String() string {
	switch k {
	case KindFloat:
		return "float"
	case KindHistogram:
		return "histogram"
	case KindFloatHistogram:
		return "floathistogram"
	}
	return "unknown"
}

// MaxSamples is the largest number of samples in a stored block.
const MaxSamples = 8192

// Span is a run of samples of one series and one kind in strictly ascending
// time order: what every reader of stored data looks at.
//
// Times are milliseconds. They are either listed in Times or, when Times is
// nil, lie on a grid: sample i is at Start + i*Step.
//
// Float values are either listed in Floats or, when Floats is nil, are decimal
// mantissas in Ints32 or Ints64 with value m / 10^Scale, computed as one
// division of two exact doubles. Histograms are in Histograms or
// FloatHistograms, by Kind. StartTimes is nil when no sample has one; a zero
// in it means unknown.
//
// All slices belong to the Cursor that handed the span out: they are valid
// until its next call of Next and must not be modified. The histograms they
// point to stay valid and are never changed by anyone.
//
// A span may have a Source, its stored form, which answers Stat without values;
// it follows the span through copies and Slice. See Load for spans without
// values.
type Span struct {
	Kind  Kind
	Count int // number of samples, at least 1

	Times       []int64
	Start, Step int64

	Floats []float64
	Ints32 []int32
	Ints64 []int64
	Scale  uint8

	Histograms      []*histogram.Histogram
	FloatHistograms []*histogram.FloatHistogram

	StartTimes []int64

	source Source // nil if the samples have no stored form of their own
	from   int    // the sample of source that is the first of the span
}

// Time returns the time of sample i in milliseconds.
func (s *Span) Time(i int) int64 {
	if s.Times != nil {
		return s.Times[i]
	}
	return s.Start + int64(i)*s.Step
}

// MinT returns the time of the first sample.
func (s *Span) MinT() int64 { return s.Time(0) }

// MaxT returns the time of the last sample.
func (s *Span) MaxT() int64 { return s.Time(s.Count - 1) }

// Search returns the index of the first sample at or after t, Count if there
// is none.
func (s *Span) Search(t int64) int {
	if s.Times != nil {
		return sort.Search(s.Count, func(i int) bool { return s.Times[i] >= t })
	}
	switch {
	case t <= s.Start:
		return 0
	case s.Step <= 0 || t > s.Start+int64(s.Count-1)*s.Step:
		return s.Count
	}
	return int((t - s.Start + s.Step - 1) / s.Step)
}

// Float returns the value of sample i of a float span, bit for bit as it was
// written.
func (s *Span) Float(i int) float64 {
	switch {
	case s.Floats != nil:
		return s.Floats[i]
	case s.Ints32 != nil:
		return codec.Decimal(int64(s.Ints32[i]), s.Scale)
	default:
		return codec.Decimal(s.Ints64[i], s.Scale)
	}
}

// StartTime returns the start timestamp of sample i, 0 if it is unknown.
func (s *Span) StartTime(i int) int64 {
	if s.StartTimes == nil {
		return 0
	}
	return s.StartTimes[i]
}

// Slice returns the samples [i, j) as a span of their own that shares the
// slices of s.
func (s *Span) Slice(i, j int) Span {
	out := *s
	out.Count = j - i
	out.Start = s.Start + int64(i)*s.Step
	out.from = s.from + i
	if s.Times != nil {
		out.Times = s.Times[i:j]
	}
	if s.Floats != nil {
		out.Floats = s.Floats[i:j]
	}
	if s.Ints32 != nil {
		out.Ints32 = s.Ints32[i:j]
	}
	if s.Ints64 != nil {
		out.Ints64 = s.Ints64[i:j]
	}
	if s.Histograms != nil {
		out.Histograms = s.Histograms[i:j]
	}
	if s.FloatHistograms != nil {
		out.FloatHistograms = s.FloatHistograms[i:j]
	}
	if s.StartTimes != nil {
		out.StartTimes = s.StartTimes[i:j]
	}
	return out
}

// Clip returns the part of s inside [mint, maxt]; Count is 0 if none is.
func (s *Span) Clip(mint, maxt int64) Span {
	if s.MinT() >= mint && s.MaxT() <= maxt {
		return *s
	}
	i := s.Search(mint)
	j := s.Count
	if maxt < math.MaxInt64 {
		j = s.Search(maxt + 1)
	}
	if j < i {
		j = i
	}
	return s.Slice(i, j)
}

// StatOp names a statistic over a range of samples of a float span.
type StatOp uint8

// The statistics a span can answer. All of them look at the values alone, in
// time order; staleness markers are values like any other.
const (
	StatCount StatOp = iota + 1
	StatSum
	StatMin
	StatMax
	StatFirst
	StatLast
	// StatIncrease is what a counter grew by: the last value less the first,
	// plus, in time order, each value that a smaller one follows.
	StatIncrease
)

// maxExact bounds integers whose sums are exact in a float64, in any order.
const maxExact = 1 << 53

// Stat returns a statistic over the samples [i, j) of a float span and whether
// it is exact: equal, bit for bit, to what decoding the samples and computing
// it in time order gives. Only an exact value may be used; on false the caller
// decodes. j > i. A span without values answers as far as its source does.
func (s *Span) Stat(op StatOp, i, j int) (value float64, exact bool) {
	if s.Kind != KindFloat || i >= j {
		return 0, false
	}
	if op == StatCount {
		return float64(j - i), true
	}
	if value, exact := s.askSource(op, i, j); exact || !s.Loaded() {
		return value, exact
	}
	switch op {
	case StatFirst:
		return s.Float(i), true
	case StatLast:
		return s.Float(j - 1), true
	case StatSum:
		return s.exactSum(i, j)
	case StatMin, StatMax:
		return s.extreme(op, i, j)
	case StatIncrease:
		return s.increase(i, j)
	}
	return 0, false
}

// exactSum adds integers as long as no partial sum can lose a bit.
func (s *Span) exactSum(i, j int) (float64, bool) {
	var sum, magnitude float64
	for ; i < j; i++ {
		v := s.Float(i)
		if v != math.Trunc(v) || math.IsInf(v, 0) || (v == 0 && math.Signbit(v)) {
			return 0, false
		}
		sum += v
		magnitude += math.Abs(v)
		if magnitude >= maxExact {
			return 0, false
		}
	}
	return sum, true
}

// extreme declines ranges with NaN or a negative zero, where "smallest" depends
// on the dialect that asks.
func (s *Span) extreme(op StatOp, i, j int) (float64, bool) {
	best := s.Float(i)
	for k := i; k < j; k++ {
		v := s.Float(k)
		if math.IsNaN(v) || (v == 0 && math.Signbit(v)) {
			return 0, false
		}
		if (op == StatMin && v < best) || (op == StatMax && v > best) {
			best = v
		}
	}
	return best, true
}
