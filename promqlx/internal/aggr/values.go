package aggr

import (
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// values are the groups of count_values: a count by group and value. The order
// of its results is not defined in Prometheus' engine; here it is that of first
// appearance.
type values struct {
	base
	// apart tells that values are told apart: not if their label is grouped away.
	apart  bool
	floats map[floatValue]int32
	hists  map[histValue]int32
	of     []valueOf // the results
	texts  []byte    // their values, one after another
	runs   []run
	held   int64
}

type floatValue struct {
	g    int
	bits uint64 // one for all NaNs; -0 is not 0
}

type histValue struct {
	g    int
	text string
}

// valueOf is one result.
type valueOf struct {
	g   int
	end int // of its value in texts
}

// run is steps at which a series has the value of a result.
type run struct{ of, from, to int32 } // [from, to)

func newValues(b base) *values {
	return &values{
		base: b, apart: !b.Without || !slices.Contains(b.Grouping, b.Text),
		floats: make(map[floatValue]int32), hists: make(map[histValue]int32),
	}
}

func (a *values) Add(g int, r *row.Row) {
	last, lastBits := int32(-1), uint64(0)
	for i, f := range r.F {
		if h := r.HAt(i); h != nil {
			a.addRun(a.histogram(g, h.String()), i)
			last = -1
			continue
		}
		if !r.Has.Get(i) {
			continue
		}
		if b := math.Float64bits(f); last < 0 || b != lastBits {
			last, lastBits = a.float(g, f), b
		}
		a.addRun(last, i)
	}
}

// addRun counts the result at step i.
func (a *values) addRun(of int32, i int) {
	if n := len(a.runs); n > 0 && a.runs[n-1].of == of && int(a.runs[n-1].to) == i {
		a.runs[n-1].to++
		return
	}
	a.runs = append(a.runs, run{of, int32(i), int32(i) + 1})
}

// float returns the number of the result for f.
func (a *values) float(g int, f float64) int32 {
	key := floatValue{g, math.Float64bits(f)}
	if f != f {
		key.bits = math.Float64bits(math.NaN())
	}
	if !a.apart {
		key.bits = 0
	}
	of, ok := a.floats[key]
	if !ok {
		a.texts = strconv.AppendFloat(a.texts, f, 'f', -1, 64)
		of = a.result(g)
		a.floats[key] = of
	}
	return of
}

// histogram returns the number of the result for a histogram.
func (a *values) histogram(g int, text string) int32 {
	if !a.apart {
		return a.float(g, 0)
	}
	key := histValue{g, text}
	of, ok := a.hists[key]
	if !ok {
		a.texts = append(a.texts, text...)
		of = a.result(g)
		a.hists[key] = of
		a.held += int64(len(text))
	}
	return of
}

// result adds one for the text that was added last.
func (a *values) result(g int) int32 {
	a.of = append(a.of, valueOf{g, len(a.texts)})
	a.held += 64 // in the maps
	return int32(len(a.of) - 1)
}

func (a *values) Finish(groups []labels.Labels, emit func(*row.Row) error) error {
	start := make([]int, len(a.of)+1) // of each result's runs
	for _, u := range a.runs {
		start[u.of+1]++
	}
	for k := range a.of {
		start[k+1] += start[k]
	}
	byResult, next := make([]run, len(a.runs)), slices.Clone(start)
	for _, u := range a.runs {
		byResult[next[u.of]] = u
		next[u.of]++
	}
	out := row.New(a.n)
	b := labels.NewBuilder(labels.EmptyLabels())
	texts, from := string(a.texts), 0
	for k, v := range a.of {
		out.Reset()
		out.Labels = groups[v.g]
		if a.apart {
			b.Reset(out.Labels)
			out.Labels = b.Set(a.Text, texts[from:v.end]).Labels()
		}
		from = v.end
		for _, u := range byResult[start[k]:start[k+1]] {
			for i := int(u.from); i < int(u.to); i++ {
				if !out.Has.Get(i) {
					out.SetF(i, 0)
				}
				out.F[i]++
			}
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	a.finish()
	return nil
}

func (a *values) Bytes() int64 {
	return a.held + int64(cap(a.texts)) + int64(cap(a.runs))*int64(unsafe.Sizeof(run{})) + int64(cap(a.of))*int64(unsafe.Sizeof(valueOf{}))
}
