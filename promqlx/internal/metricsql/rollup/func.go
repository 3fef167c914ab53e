package rollup

import (
	"fmt"
	"maps"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// trait is what is known of a function besides its kernel.
type trait uint

const (
	silence  trait = 1 << iota // looks at the sample before the window
	adjusts                    // a window that was not given may be widened
	counter                    // counter resets are taken out first
	keeps                      // the metric's name stays
	stales                     // staleness markers stay
	inAggr                     // aggr_over_time may name it
	labelled                   // makes series by itself, told apart by a label
)

// family is which configurations a function has.
type family int

const (
	single  family = iota // one, of one argument unless build says otherwise
	minMax                // rollup and its kin: min, max, avg, or one of them
	candles               // rollup_candlestick: open, close, low, high, or one of them
	named                 // aggr_over_time: what its first argument names
)

// spec describes a function. For those of family single either kernel is there, or
// build, which makes it from the arguments.
type spec struct {
	traits  trait
	family  family
	kernel  kernel
	direct  direct // kernel's fast form; nil if there is none
	build   func(args) (kernel, error)
	prepare func(values []float64, timestamps []int64) // after the counter resets
}

// specs are the functions by their names in lower case. It is never written to.
var specs = func() map[string]*spec {
	all := make(map[string]*spec)
	for _, part := range []map[string]*spec{
		plainSpecs(), timeSpecs(), counterSpecs(), changeSpecs(), filterSpecs(),
		quantileSpecs(), statSpecs(), trendSpecs(), labelledSpecs(), severalSpecs(),
	} {
		maps.Copy(all, part)
	}
	return all
}()

// Func is a rollup function whose arguments are known. It is immutable.
type Func struct {
	name   string
	spec   *spec
	kernel kernel // family single
}

// Known tells whether there is a rollup function of that name, in any case.
func Known(name string) bool { return specs[strings.ToLower(name)] != nil }

// New checks the arguments of a call and returns its function. args are the
// arguments' values, on the grid that On will get; the place of the rolled up
// argument itself (see mql.GetRollupArgIdx) is ignored. New keeps the values of
// scalars. The function must be Known.
func New(call *mql.FuncExpr, all [][]*series.Series) (*Func, error) {
	name := strings.ToLower(call.Name)
	s := specs[name]
	if s == nil {
		return nil, fmt.Errorf("unknown rollup function %q", call.Name)
	}
	f := &Func{name: name, spec: s, kernel: s.kernel}
	a := args(all)
	if s.build != nil {
		var err error
		f.kernel, err = s.build(a)
		return f, err
	}
	switch s.family {
	case single:
		return f, a.count(1)
	case named:
		return f, a.count(2)
	}
	if len(a) < 1 || len(a) > 2 {
		return nil, fmt.Errorf("unexpected number of args; got %d; want 1...2", len(a))
	}
	return f, nil
}

// Default returns default_rollup, what a selector alone means.
func Default() *Func {
	s := specs["default_rollup"]
	return &Func{name: "default_rollup", spec: s, kernel: s.kernel}
}

// Name returns the function's name, in lower case.
func (f *Func) Name() string { return f.name }

func (f *Func) has(t trait) bool { return f.spec.traits&t != 0 }

// NeedsSilence tells whether samples before the window have to be read, as far
// back as a series may be silent.
func (f *Func) NeedsSilence() bool { return f.has(silence) }

// KeepsName tells whether the metric's name stays in the result.
func (f *Func) KeepsName() bool { return f.has(keeps) }

// KeepsStale tells whether staleness markers count as samples.
func (f *Func) KeepsStale() bool { return f.has(stales) }
