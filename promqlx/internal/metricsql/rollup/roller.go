package rollup

import (
	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// Windows are the windows of a rollup, all in milliseconds.
type Windows struct {
	Grid     row.Grid // a window ends at each step
	Window   int64    // 0: the query gives none; never negative
	Lookback int64    // the query's max_lookback; 0: none
}

// config is one of the results that a function has for each series.
type config struct {
	tag    string // value of the label "rollup", empty: none
	kernel kernel
	direct direct
}

// Roller rolls series up. It is immutable, for many goroutines at once, each with
// a Scratch of its own.
type Roller struct {
	f         *Func
	w         Windows
	configs   []config
	counter   bool
	byDefault bool  // default_rollup
	noNaNs    bool  // kernels meet none, not even of infinities that were subtracted
	staleness int64 // after how long a counter begins anew; 0: never
}

// On puts the function on its windows. expr is the call, or an aggregation of it
// alone; only functions whose configurations depend on a string argument look at
// it, and only they return errors.
func (f *Func) On(w Windows, expr mql.Expr) (*Roller, error) {
	r := &Roller{f: f, w: w, counter: f.has(counter), byDefault: f.name == "default_rollup"}
	if w.Lookback != 0 {
		r.staleness = w.Lookback + w.Window
	}
	var err error
	switch f.spec.family {
	case single:
		r.configs = []config{{kernel: f.kernel, direct: f.spec.direct}}
	case minMax:
		r.configs, err = minMaxConfigs(expr)
	case candles:
		r.configs, err = candleConfigs(expr)
	case named:
		r.configs, r.counter, err = namedConfigs(expr)
	}
	r.noNaNs = !r.counter && f.spec.prepare == nil && !f.has(stales)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Single tells whether a series makes one series without labels of its own, so
// that Do serves.
func (r *Roller) Single() bool {
	return len(r.configs) == 1 && r.configs[0].tag == "" && !r.f.has(labelled)
}

// Append rolls one series up and appends the results, which the caller owns; name
// is not kept. The metric's name goes unless keepNames or the function keeps it.
// Samples are in the order of their times; both slices are changed in place.
func (r *Roller) Append(dst []*series.Series, name *series.Name, keepNames bool, values []float64, timestamps []int64, s *Scratch) []*series.Series {
	values, timestamps = r.prepare(values, timestamps)
	keepNames = keepNames || r.f.has(keeps)
	if r.f.has(labelled) {
		out := &branches{origin: r.name(name, keepNames, ""), steps: r.w.Grid.N, scratch: s}
		s.unused = r.walk(s.unused[:0], r.configs[0].kernel, values, timestamps, out, s)
		return append(dst, out.all...)
	}
	for i := range r.configs {
		c := &r.configs[i]
		if !s.room() {
			break
		}
		dst = append(dst, &series.Series{
			Name:   r.name(name, keepNames, c.tag),
			Values: r.run(make([]float64, 0, r.w.Grid.N), c, values, timestamps, s),
		})
	}
	return dst
}

// Do appends the values by step of one series to dst, as Append would make them.
// The Roller must be Single. Samples are in the order of their times; both slices
// are changed in place.
func (r *Roller) Do(dst, values []float64, timestamps []int64, s *Scratch) []float64 {
	values, timestamps = r.prepare(values, timestamps)
	return r.run(dst, &r.configs[0], values, timestamps, s)
}

func (r *Roller) prepare(values []float64, timestamps []int64) ([]float64, []int64) {
	if r.counter && r.staleness == 0 && r.f.spec.prepare == nil && rising(values) == len(values) {
		return values, timestamps
	}
	values, timestamps = dropNaNs(values, timestamps, r.f.has(stales))
	if r.counter {
		removeResets(values, timestamps, r.staleness)
	}
	if r.f.spec.prepare != nil {
		r.f.spec.prepare(values, timestamps)
	}
	return values, timestamps
}

// run computes a configuration, in its direct form if it has one.
func (r *Roller) run(dst []float64, c *config, values []float64, timestamps []int64, s *Scratch) []float64 {
	if c.direct != nil {
		return c.direct(dst, r, values, timestamps, s)
	}
	return r.walk(dst, c.kernel, values, timestamps, nil, s)
}

func (r *Roller) name(from *series.Name, keep bool, tag string) series.Name {
	n := series.Name{Group: from.Group, Tags: make([]series.Tag, len(from.Tags), len(from.Tags)+1)}
	copy(n.Tags, from.Tags)
	if tag != "" {
		n.Add("rollup", tag)
	}
	if !keep {
		n.Group = ""
	}
	return n
}
