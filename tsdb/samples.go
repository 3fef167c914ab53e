package tsdb

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Samples are what View.Read appends to: floats and histograms apart, each in
// ascending time order, in columns. The zero value is ready; it is for one
// goroutine, and kept from series to series reading allocates nothing but for
// histograms. The columns belong to the caller.
type Samples struct {
	T []int64   // milliseconds
	F []float64 // as long
	// ST are start timestamps, 0 if unknown: as long as T if any of the samples has
	// one and WithST is set, else nil.
	ST []int64

	HT []int64 // milliseconds
	// H are as long. They must not be changed: others may read the same ones.
	H   []*histogram.FloatHistogram
	HST []int64 // as ST

	WithST    bool // start timestamps are wanted
	WithStale bool // staleness markers are samples too, rather than left out

	floats block.Floats // its columns are T and F
	starts []int64      // room for HST
}

// Reset empties s and keeps its memory and what is wanted.
func (s *Samples) Reset() {
	clear(s.H)
	s.T, s.F, s.ST, s.HT, s.H, s.HST = s.T[:0], s.F[:0], nil, s.HT[:0], s.H[:0], nil
}

// Len returns the number of samples of both sorts.
func (s *Samples) Len() int { return len(s.T) + len(s.HT) }

// begin hands the columns of floats out to be appended to.
func (s *Samples) begin() *block.Floats {
	f := &s.floats
	f.T, f.F, f.Starts, f.Stale = s.T, s.F, s.WithST, s.WithStale
	f.S = append(f.S[:0], s.ST...)
	f.Truncate(len(s.T))
	return f
}

// end takes them back.
func (s *Samples) end() {
	f := &s.floats
	s.T, s.F = f.T, f.F
	if s.ST = nil; len(f.S) > 0 {
		f.Pad()
		s.ST = f.S
	}
}

// appendSpans appends what a cursor has.
func (s *Samples) appendSpans(c *Cursor) error {
	f := s.begin()
	floats, histograms := len(s.T), len(s.HT)
	f.Begin()
	for c.Next() {
		if span := c.Span(); span.Kind == KindFloat {
			f.AppendSpan(span)
		} else {
			s.appendHistograms(span)
		}
	}
	if c.Err() == nil {
		f.Settle()
	} else {
		f.Truncate(floats)
		s.truncateHistograms(histograms)
	}
	s.end()
	return c.Err()
}

func (s *Samples) appendHistograms(span *Span) {
	for i := range span.Count {
		var h *histogram.FloatHistogram
		if span.Kind == KindHistogram {
			h = span.Histograms[i].ToFloat(nil)
		} else {
			h = span.FloatHistograms[i]
		}
		if !s.WithStale && value.IsStaleNaN(h.Sum) {
			continue
		}
		s.HT, s.H = append(s.HT, span.Time(i)), append(s.H, h)
		if st := span.StartTime(i); s.WithST && (st != 0 || s.HST != nil) {
			s.appendHST(st)
		}
	}
}

// appendHST adds the start timestamp of the last histogram.
func (s *Samples) appendHST(st int64) {
	if s.HST == nil {
		s.starts = slices.Grow(s.starts[:0], len(s.HT))[:len(s.HT)-1]
		clear(s.starts)
		s.HST = s.starts
	}
	s.HST = append(s.HST, st)
	s.starts = s.HST
}

func (s *Samples) truncateHistograms(n int) {
	clear(s.H[n:])
	s.HT, s.H = s.HT[:n], s.H[:n]
	if s.HST != nil {
		s.HST = s.HST[:n]
	}
}
