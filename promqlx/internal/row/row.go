package row

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/schema"
)

// Row is one series over the steps of a grid. At each step it has a float, or a
// histogram, or nothing.
//
// An operator that hands out a Row owns it: the row is valid until the
// operator's next call. Histograms are shared: nobody changes one that came out
// of a row, who needs to copies it first.
type Row struct {
	// Labels is the series' label set, with its name as long as DropName says
	// that it is still to be dropped. It is empty where the plan says that
	// nobody looks at labels; see Key.
	Labels   labels.Labels
	DropName bool // as promql.Series.DropName: the name goes at the end
	// Key is the number of the group of the aggregation right above, where that
	// was found without making labels; -1 otherwise.
	Key int

	F   []float64                   // by step, meaningful where Has is set
	Has Bits                        // steps with a float
	H   []*histogram.FloatHistogram // nil if there is none, else by step, nil where there is none
}

// New returns an empty row for n steps.
func New(n int) *Row {
	return &Row{Key: -1, F: make([]float64, n), Has: NewBits(n)}
}

// Reset makes the row empty, keeping its memory. The number of steps stays.
func (r *Row) Reset() {
	r.Labels, r.DropName, r.Key = labels.EmptyLabels(), false, -1
	r.Has.Clear()
	if r.H != nil {
		clear(r.H)
		r.H = r.H[:0]
	}
}

// Resize makes the row an empty one for n steps, keeping its memory if that is
// enough.
func (r *Row) Resize(n int) {
	words := (n + 63) / 64
	if cap(r.F) < n || cap(r.Has) < words {
		r.F, r.Has = make([]float64, n), make(Bits, words)
	}
	r.F, r.Has = r.F[:n], r.Has[:words]
	clear(r.H[:cap(r.H)])
	r.H = r.H[:0]
	r.Reset()
}

// Steps returns the number of steps.
func (r *Row) Steps() int { return len(r.F) }

// Histograms tells whether the row has any histogram slots in use.
func (r *Row) Histograms() bool { return len(r.H) > 0 }

// SetF puts a float at step i.
func (r *Row) SetF(i int, f float64) {
	r.F[i] = f
	r.Has.Set(i)
}

// SetH puts a histogram at step i.
func (r *Row) SetH(i int, h *histogram.FloatHistogram) {
	if len(r.H) == 0 {
		if cap(r.H) < len(r.F) {
			r.H = make([]*histogram.FloatHistogram, len(r.F))
		}
		r.H = r.H[:len(r.F)]
	}
	r.H[i] = h
}

// HAt returns the histogram at step i, nil if there is none.
func (r *Row) HAt(i int) *histogram.FloatHistogram {
	if len(r.H) == 0 {
		return nil
	}
	return r.H[i]
}

// At tells whether there is a sample at step i.
func (r *Row) At(i int) bool { return r.Has.Get(i) || r.HAt(i) != nil }

// Empty tells whether there is no sample at all.
func (r *Row) Empty() bool {
	if r.Has.Any() {
		return false
	}
	for _, h := range r.H {
		if h != nil {
			return false
		}
	}
	return true
}

// Clone returns a copy with memory of its own; histograms stay shared.
func (r *Row) Clone() *Row {
	c := &Row{Labels: r.Labels, DropName: r.DropName, Key: r.Key}
	c.F = append([]float64(nil), r.F...)
	c.Has = append(Bits(nil), r.Has...)
	if len(r.H) > 0 {
		c.H = append([]*histogram.FloatHistogram(nil), r.H...)
	}
	return c
}

// LoseName drops the metric's name, type and unit: now, or at the end of the
// evaluation if names are removed late. (DropReserved and DropName of
// Prometheus' engine.)
func (r *Row) LoseName(env *Env) {
	if !env.DelayedNames {
		r.Labels = r.Labels.DropReserved(schema.IsMetadataLabel)
	}
	r.DropName = true
}
