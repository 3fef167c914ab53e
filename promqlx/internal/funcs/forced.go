package funcs

import (
	"math/bits"

	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// forced collects, by name of metric, where classic histograms had to be made
// monotonic. One annotation tells of all of a name.
type forced []*forcedName

type forcedName struct {
	name   string
	steps  []int // how often, by step
	bounds force
}

// add notes that f was done to a histogram of the name at step i of n.
func (fs *forced) add(name string, i, n int, f force) {
	e := fs.of(name, n)
	e.steps[i]++
	e.bounds.any = true
	e.bounds.minBound = min(e.bounds.minBound, f.minBound)
	e.bounds.maxBound = max(e.bounds.maxBound, f.maxBound)
	e.bounds.maxDiff = max(e.bounds.maxDiff, f.maxDiff)
}

func (fs *forced) of(name string, n int) *forcedName {
	for _, e := range *fs {
		if e.name == name {
			return e
		}
	}
	e := &forcedName{name: name, steps: make([]int, n), bounds: noForce()}
	*fs = append(*fs, e)
	return e
}

// annotate leaves the annotations.
func (fs forced) annotate(env *row.Env, pos posrange.PositionRange) {
	for _, e := range fs {
		env.Annos.Add(e.annotation(env, pos))
	}
}

// annotation returns what Prometheus' engine says in the end. The number of
// samples it names is not how often a histogram was forced: of each step the
// engine merges all annotations so far into those it has, which are the same,
// so that the number doubles with each step after the first that had one.
func (e *forcedName) annotation(env *row.Env, pos posrange.PositionRange) error {
	var samples uint64
	first, last := -1, -1
	for i, n := range e.steps {
		samples += uint64(n)
		if first >= 0 {
			samples *= 2
		}
		if n > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	one := func(step int) error {
		return annotations.NewHistogramQuantileForcedMonotonicityInfo(e.name, pos, env.Grid.T(step),
			e.bounds.minBound, e.bounds.maxBound, e.bounds.maxDiff)
	}
	if first == last && samples == 1 {
		return one(first)
	}
	return repeated(samples, one(first), func() error { return one(last) })
}

// repeated returns an annotation of n samples, which is not 1, the first of
// which is at the time of first and the last at that of last. There is no
// telling an annotation its number: it comes about by merging, by double and
// add. 0 stands for 2^64.
func repeated(n uint64, first error, last func() error) error {
	acc := merged(last(), first) // 2 samples
	top := bits.Len64(n) - 1
	if n == 0 {
		top = 64
	}
	for bit := top - 1; bit >= 0; bit-- {
		if bit < top-1 {
			acc = merged(acc, acc)
		}
		if n>>bit&1 != 0 {
			acc = merged(last(), acc)
		}
	}
	return acc
}

// merged joins two annotations of one text.
func merged(a, b error) error {
	return a.(interface{ Merge(error) error }).Merge(b)
}
