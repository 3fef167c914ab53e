package aggr

import (
	"math"
	"slices"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// roomLen is how many values a Fold makes room for at once, if it has as many
// groups already.
const roomLen = 4096

// Fold is an aggregate in the making: it takes one series after the other and keeps
// only what it needs to know of each group. It is for one goroutine at a time.
type Fold struct {
	groups *grouper
	steps  int
	kernel *kernel // nil of any
	names  []series.Name
	values [][]float64 // of each group; nil of any that has seen none
	counts [][]uint32

	// What is left of the room for values and counts of new groups.
	room      []float64
	countRoom []uint32
}

// NewFold returns the fold of a call over series of this many steps, nil if the
// aggregate has no such form. The expression is not changed.
func NewFold(e *mql.AggrFuncExpr, steps int) *Fold {
	name := strings.ToLower(e.Name)
	k := kernels[name]
	if k == nil && name != "any" {
		return nil
	}
	return &Fold{groups: newGrouper(&e.Modifier, e.Limit), steps: steps, kernel: k}
}

// Add takes a series, which stays the caller's.
func (f *Fold) Add(name *series.Name, values []float64) { f.AddTo(f.Group(name), values) }

// Group returns the number of the group that series of this name go to, -1 if the
// limit of groups is reached. The name stays the caller's; there is no allocation
// for a group that is known already.
func (f *Fold) Group(name *series.Name) int {
	number, isNew := f.groups.of(name)
	if isNew {
		f.open(name)
	}
	return number
}

// open makes room for a new group.
func (f *Fold) open(name *series.Name) {
	if f.kernel == nil {
		// any has the labels of the series it picks, in their order.
		f.names = append(f.names, name.Clone())
		f.values = append(f.values, nil)
		return
	}
	f.names = append(f.names, f.groups.name.Clone())
	if len(f.room) < f.steps {
		f.room = make([]float64, f.more())
	}
	values := f.room[:f.steps:f.steps]
	f.room = f.room[f.steps:]
	f.kernel.begin(values, f.kernel.start)
	f.values = append(f.values, values)
	if !f.kernel.counts {
		f.counts = append(f.counts, nil)
		return
	}
	if len(f.countRoom) < f.steps {
		f.countRoom = make([]uint32, f.more())
	}
	f.counts = append(f.counts, f.countRoom[:f.steps:f.steps])
	f.countRoom = f.countRoom[f.steps:]
}

// more returns how many values to make room for: as many as there are already, but
// not many at once.
func (f *Fold) more() int {
	return f.steps * max(1, min(len(f.names), roomLen/max(f.steps, 1)))
}

// Len returns how many groups there are so far.
func (f *Fold) Len() int { return len(f.names) }

// AddTo takes the values of a series, one for each step, of a group that Group has
// returned; of group -1 it drops them. The values stay the caller's. There is no
// allocation.
func (f *Fold) AddTo(group int, values []float64) {
	if group < 0 {
		return
	}
	if f.kernel != nil {
		f.kernel.add(f.values[group], f.counts[group], values)
		return
	}
	if f.values[group] == nil {
		f.values[group] = slices.Clone(values)
	}
}

// Series returns a series for each group, in the order in which groups first
// appeared, and ends the fold: nothing can be added any more. Groups without any
// value are among them.
func (f *Fold) Series() []*series.Series {
	out := make([]*series.Series, len(f.names))
	for i, name := range f.names {
		if f.kernel != nil {
			f.kernel.end(f.values[i], f.counts[i])
		} else if f.values[i] == nil {
			f.values[i] = series.Constant(math.NaN(), f.steps).Values
		}
		out[i] = &series.Series{Name: name, Values: f.values[i]}
	}
	return out
}
