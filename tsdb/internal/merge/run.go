package merge

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index2"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// Input is a part to be joined with what deletes hide of it, by ordinal.
type Input struct {
	Part   *part.Part
	Hidden map[uint32][]block.Interval
}

// Run writes what the inputs hold to w, series by series in label order. At
// equal times the later input wins; hidden samples and samples outside
// [mint, maxt] are left out. Of blocks that no other input touches and nothing
// hides the stored form may be copied, see part.Writer.Add.
func Run(ctx context.Context, w *part.Writer, inputs []Input, mint, maxt int64) error {
	walks := make([]*walk, 0, len(inputs))
	for _, in := range inputs {
		idx, err := in.Part.Index()
		if err != nil {
			return err
		}
		k := &walk{Input: in, series: idx.Len(), labels: idx.Materializer()}
		if err := k.load(); err != nil {
			return err
		}
		walks = append(walks, k)
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		group := lowest(walks)
		if len(group) == 0 {
			return nil
		}
		if err := writeSeries(w, group, mint, maxt); err != nil {
			return fmt.Errorf("merge series %s: %w", group[0].lset, err)
		}
		for _, k := range group {
			k.ord++
			if err := k.load(); err != nil {
				return err
			}
		}
	}
}

// walk is where one input stands.
type walk struct {
	Input
	series int
	labels *index2.Materializer
	ord    uint32
	lset   labels.Labels
}

func (k *walk) done() bool { return int(k.ord) >= k.series }

func (k *walk) load() (err error) {
	if !k.done() {
		k.lset, err = k.labels.Labels(k.ord)
	}
	return err
}

// lowest returns the inputs that stand at the lowest label set, in order.
func lowest(walks []*walk) []*walk {
	var group []*walk
	for _, k := range walks {
		if k.done() {
			continue
		}
		c := -1
		if len(group) > 0 {
			c = labels.Compare(k.lset, group[0].lset)
		}
		switch {
		case c < 0:
			group = append(group[:0:0], k)
		case c == 0:
			group = append(group, k)
		}
	}
	return group
}

func writeSeries(w *part.Writer, group []*walk, mint, maxt int64) error {
	var cursors []block.Cursor
	var xs []exemplar.Exemplar
	for _, k := range group {
		hidden := k.Hidden[k.ord]
		cursors = append(cursors, block.Hide(k.Part.Spans(k.ord, mint, maxt), hidden))
		found, err := k.Part.Exemplars(k.ord, mint, maxt)
		if err != nil {
			return err
		}
		for _, x := range found {
			if !inside(hidden, x.Ts) {
				xs = append(xs, x)
			}
		}
	}
	lset := group[0].lset
	if err := w.Add(lset, block.Merge(cursors)); err != nil {
		return err
	}
	if len(xs) == 0 {
		return nil
	}
	slices.SortStableFunc(xs, func(a, b exemplar.Exemplar) int { return cmp.Compare(a.Ts, b.Ts) })
	return w.AddExemplars(lset, slices.CompactFunc(xs, exemplar.Exemplar.Equals))
}

func inside(intervals []block.Interval, t int64) bool {
	for _, iv := range intervals {
		if t >= iv.MinT && t <= iv.MaxT {
			return true
		}
	}
	return false
}
