package merge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// Input is a part to be joined with what deletes hide of it, by ordinal.
type Input struct {
	Part   *part.Part
	Hidden map[uint32][]block.Interval
}

// Run writes what the inputs hold to w, a new one, series by series in label order.
// At equal times the later input wins; hidden samples and samples outside
// [mint, maxt] are left out. Of blocks that no other input touches and nothing
// hides the stored form may be copied, see part.Writer.Add.
//
// rest is called every few series, and may take its time; its error ends the merge.
//
// Series are told apart by numbers: memory holds four bytes for each distinct value
// of a label of each input until w is committed, which is before an input closes.
func Run(rest func() error, w *part.Writer, inputs []Input, mint, maxt int64) error {
	segments := make([]*index.Segment, len(inputs))
	for i, in := range inputs {
		var err error
		if segments[i], err = in.Part.Index(); err != nil {
			return err
		}
	}
	u, err := index.NewUnion(segments)
	if err != nil {
		return err
	}
	w.UseTerms(u)
	return run(rest, w, u.Join(), inputs, mint, maxt)
}

func run(rest func() error, w *part.Writer, j *index.Join, inputs []Input, mint, maxt int64) error {
	m := &merging{w: w, inputs: inputs, mint: mint, maxt: maxt}
	for _, in := range inputs {
		walk, err := in.Part.Walk(mint, maxt)
		if err != nil {
			return err
		}
		m.walks = append(m.walks, walk)
	}
	for n := 0; j.Next(); n++ {
		if n%restEvery == 0 {
			if err := rest(); err != nil {
				return err
			}
		}
		if err := m.series(j.Row(), j.Places()); err != nil {
			lset, _ := j.Labels() // for the message alone
			return fmt.Errorf("merge series %s: %w", lset, err)
		}
	}
	return j.Err()
}

// restEvery is how many series are written without a rest.
const restEvery = 64

// merging is a merge under way.
type merging struct {
	w          *part.Writer
	inputs     []Input
	walks      []*part.Walk // of the inputs
	mint, maxt int64
	cursors    []block.Cursor
}

// series writes one series.
func (m *merging) series(row index.Row, places []index.Place) error {
	m.cursors = m.cursors[:0]
	var xs []exemplar.Exemplar
	for _, at := range places {
		in := &m.inputs[at.Input]
		hidden := in.Hidden[at.Series]
		c := m.walks[at.Input].Spans(at.Series)
		if len(hidden) > 0 {
			c = block.Hide(c, hidden)
		}
		m.cursors = append(m.cursors, c)
		found, err := in.Part.Exemplars(at.Series, m.mint, m.maxt)
		if err != nil {
			return err
		}
		for _, x := range found {
			if !inside(hidden, x.Ts) {
				xs = append(xs, x)
			}
		}
	}
	if err := m.w.AddRow(row, block.Merge(m.cursors)); err != nil {
		return err
	}
	if len(xs) == 0 {
		return nil
	}
	slices.SortStableFunc(xs, func(a, b exemplar.Exemplar) int { return cmp.Compare(a.Ts, b.Ts) })
	return m.w.AddRowExemplars(row, slices.CompactFunc(xs, exemplar.Exemplar.Equals))
}

func inside(intervals []block.Interval, t int64) bool {
	for _, iv := range intervals {
		if t >= iv.MinT && t <= iv.MaxT {
			return true
		}
	}
	return false
}
