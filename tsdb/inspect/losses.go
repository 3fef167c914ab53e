package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// lossText says where damage is and what it costs.
func lossText(l part.Loss) string {
	series := "series"
	if l.Last > l.First {
		series = fmt.Sprintf("series %d to", l.First)
	}
	return fmt.Sprintf("%v: %d samples of %s %d from %s to %s are lost", l.Problem, l.Samples, series, l.Last, stamp(l.MinT), stamp(l.MaxT))
}

// lossSum is what one damaged place costs: of times many blocks may be.
type lossSum struct {
	samples    uint64
	mint, maxt int64
	ranges     []part.Loss // of series, ascending
}

// lossNames is how many series are named for one damaged place.
const lossNames = 3

// losses gathers what is lost by the place that is damaged.
func losses(p *part.Part) (map[int64]*lossSum, error) {
	sums := map[int64]*lossSum{}
	err := p.EachLoss(func(l part.Loss) {
		sum := sums[l.Problem.Offset]
		if sum == nil {
			sum = &lossSum{mint: l.MinT, maxt: l.MaxT}
			sums[l.Problem.Offset] = sum
		}
		sum.samples += l.Samples
		sum.mint, sum.maxt = min(sum.mint, l.MinT), max(sum.maxt, l.MaxT)
		if n := len(sum.ranges); n > 0 && l.First <= sum.ranges[n-1].Last {
			sum.ranges[n-1].Last = max(sum.ranges[n-1].Last, l.Last)
		} else {
			sum.ranges = append(sum.ranges, l)
		}
	})
	return sums, err
}

// lossPrinter prints what each damaged place of a part costs.
type lossPrinter struct {
	*report
	part  *part.Part
	names *seriesNames
	sums  map[int64]*lossSum // nil until they are needed
}

func (l *lossPrinter) print(problem part.Problem) (err error) {
	m := l.part.Meta()
	file := path.Base(problem.File)
	var missing *fs.PathError
	if errors.As(problem.Cause, &missing) {
		file = path.Base(missing.Path)
	}
	switch file {
	case part.DataFile:
		if l.sums == nil {
			if l.sums, err = losses(l.part); err != nil {
				if errors.Is(err, block.ErrCorrupt) { // the table that finds them
					lostAll(l.report, m.Series, m.Samples, m.MinT, m.MaxT)
					return nil
				}
				return err
			}
		}
		if sum := l.sums[problem.Offset]; sum != nil {
			sum.print(l.report, l.names)
		}
	case part.IndexFile:
		if l.names.maker == nil {
			l.printf("  lost: the labels of all %d series, and with them their %d samples from %s to %s\n", m.Series, m.Samples, stamp(m.MinT), stamp(m.MaxT))
		} else {
			l.printf("  lost: look-ups that read there, in a part of %d series from %s to %s\n", m.Series, stamp(m.MinT), stamp(m.MaxT))
		}
	case part.ExemplarFile:
		list := l.part.ExemplarsAt(problem.Offset)
		if len(list) == 0 {
			l.printf("  lost: all %d exemplars\n", m.Exemplars)
			return nil
		}
		l.printf("  lost: exemplars of %d series\n", len(list))
		l.names.some(l.report, slices.Values(list), uint64(len(list)))
	}
	return nil
}

// lostAll says that nothing of a part can be read.
func lostAll(r *report, series, samples uint64, mint, maxt int64) {
	r.printf("  lost: all %d samples of %d series from %s to %s\n", samples, series, stamp(mint), stamp(maxt))
}

// print says what of the samples is lost, and of which series.
func (l *lossSum) print(r *report, names *seriesNames) {
	series := uint64(0)
	for _, x := range l.ranges {
		series += uint64(x.Last-x.First) + 1
	}
	r.printf("  lost: %d samples of %d series from %s to %s\n", l.samples, series, stamp(l.mint), stamp(l.maxt))
	names.some(r, l.series, series)
}

// series yields the series of the place.
func (l *lossSum) series(yield func(uint32) bool) {
	for _, x := range l.ranges {
		for o := uint64(x.First); o <= uint64(x.Last); o++ {
			if !yield(uint32(o)) {
				return
			}
		}
	}
}

// some prints the first of count series.
func (n *seriesNames) some(r *report, series iter.Seq[uint32], count uint64) {
	named := uint64(0)
	for o := range series {
		if named == lossNames {
			break
		}
		r.printf("    %s\n", n.of(o))
		named++
	}
	if count > named {
		r.printf("    and %d more\n", count-named)
	}
}
