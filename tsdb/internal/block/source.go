package block

import (
	"math"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Source is the stored form of the samples of a span, which knows statistics of
// them without their values. It is as short-lived as the slices of the span.
type Source interface {
	// Stat is Span.Stat over the samples [i, j) of the source.
	Stat(op StatOp, i, j int) (value float64, exact bool)
	// Load fills the values and start timestamps of the samples of s, of which
	// the first is sample i of the source. Loading further spans of one source
	// leaves those loaded before as they are.
	Load(s *Span, i int) error
	// Resets is Span.Resets over the samples [i, j) of the source.
	Resets(dst []int, i, j int) (list []int, exact bool)
	// MayBeStale is Span.MayBeStale over the samples [i, j) of the source.
	MayBeStale(i, j int) bool
}

// SetSource attaches the stored form of s: its first sample is sample i there. A
// float span with a source may have no values yet, see Load.
func (s *Span) SetSource(src Source, i int) { s.source, s.from = src, i }

// Source returns what SetSource was given, i moved along by Slice; nil where
// there is no stored form or the samples were changed since.
func (s *Span) Source() (src Source, i int) { return s.source, s.from }

// dropSource is for those who change samples.
func (s *Span) dropSource() { s.source, s.from = nil, 0 }

// Loaded tells whether the values of s are at hand. All spans are loaded but for
// those of cursors that say otherwise.
func (s *Span) Loaded() bool {
	return s.source == nil || s.Kind != KindFloat || s.Floats != nil || s.Ints32 != nil || s.Ints64 != nil
}

// Load makes the values of s and its start timestamps available, which must be
// called on a span that is not Loaded before either is looked at. Count, times
// and Stat do without. On a loaded span it does nothing. Errors are those of
// reading: damage is a *CorruptionError.
func (s *Span) Load() error {
	if s.Loaded() {
		return nil
	}
	return s.source.Load(s, s.from)
}

// MayBeStale tells whether staleness markers may be among the samples [i, j) of a
// float span: false is certain. Where it is true the answers of Stat, exact as they
// are, say nothing about the samples without the markers: count, first and last
// take these for values, what looks at more of them is not exact.
func (s *Span) MayBeStale(i, j int) bool {
	switch {
	case s.Kind != KindFloat || i >= j || s.Ints32 != nil || s.Ints64 != nil:
		return false
	case s.Floats == nil || s.source != nil && j-i > fewSamples:
		return s.source.MayBeStale(s.from+i, s.from+j)
	}
	return slices.ContainsFunc(s.Floats[i:j], func(v float64) bool { return codec.IsStale(math.Float64bits(v)) })
}

// Resets appends to dst the numbers of the samples of (i, j) whose value is below
// that of the one before, ascending, and tells whether that is all of them; else
// the caller decodes. Of a range with NaN it is not. With the values of the samples
// before these, and the first and last of the range, the increase over many spans
// can be added up in time order. j > i.
func (s *Span) Resets(dst []int, i, j int) (list []int, exact bool) {
	if s.Kind != KindFloat || i >= j {
		return dst, false
	}
	n := len(dst)
	if s.source != nil && (!s.Loaded() || j-i > fewSamples) {
		if list, exact = s.source.Resets(dst, s.from+i, s.from+j); exact || !s.Loaded() {
			for k := range list[n:] {
				list[n+k] -= s.from
			}
			return list, exact
		}
	}
	before := s.Float(i)
	exact = !math.IsNaN(before)
	for k := i + 1; k < j; k++ {
		v := s.Float(k)
		exact = exact && !math.IsNaN(v)
		if v < before {
			dst = append(dst, k)
		}
		before = v
	}
	if !exact {
		dst = dst[:n]
	}
	return dst, exact
}

// fewSamples is up to how many samples looking at them costs less than asking
// the source.
const fewSamples = 64

// askSource asks the source for a statistic where that is worth it.
func (s *Span) askSource(op StatOp, i, j int) (value float64, exact bool) {
	if s.source == nil || s.Loaded() && (j-i <= fewSamples || op == StatFirst || op == StatLast) {
		return 0, false
	}
	return s.source.Stat(op, s.from+i, s.from+j)
}

// increase adds what a counter grew by.
func (s *Span) increase(i, j int) (float64, bool) {
	before := s.Float(i)
	value := s.Float(j-1) - before
	if math.IsNaN(before) {
		return 0, false
	}
	for k := i + 1; k < j; k++ {
		v := s.Float(k)
		if math.IsNaN(v) {
			return 0, false
		}
		if v < before {
			value += before
		}
		before = v
	}
	return value, true
}
