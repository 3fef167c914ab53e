package eval

import (
	"context"
	"math"
	"strings"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/trace"
	"github.com/varvedb/varve/tsdb"
)

// Params are what an expression is evaluated with.
type Params struct {
	DB    *tsdb.DB
	Scope Scope
	// Lookback bounds how far back a value is looked for, milliseconds; 0 leaves it to
	// the intervals between samples.
	Lookback int64
	// Filters are sets of matchers of which each selector has to match one too; nil
	// are none.
	Filters [][]*labels.Matcher
	Meter   *budget.Meter
	Memory  *Memory
	Gate    *budget.Gate // nil: nobody waits
	Trace   *trace.Span
	Now     func() time.Time
}

// Answer is what an expression comes to.
type Answer struct {
	Grid    row.Grid
	Series  []*series.Series // without those that have no value, in the order of the answer
	Fetched int              // series that selectors found
	Samples int64            // that were read
}

// Run evaluates an expression, which it does not change. An error is told as
// Readable says.
func Run(ctx context.Context, e *Prepared, p Params) (*Answer, error) {
	q := &query{Params: p, ctx: ctx, prepared: e, bench: p.Memory.get()}
	defer p.Memory.put(q.bench)
	end, err := q.begin(e.selects() * max(1, len(p.Filters)))
	if err != nil {
		return nil, err
	}
	defer end()
	s := p.Scope
	s.maxPoints = MaxPoints
	since := q.used()
	all, err := q.expr(s, e.Expr)
	if err != nil {
		return nil, err
	}
	all = series.DropEmpty(all)
	if err := q.settle(since, len(all), s.grid()); err != nil {
		return nil, err
	}
	if sorts(e.Expr) {
		series.Sort(all)
	}
	if err := unique(all); err != nil {
		return nil, err
	}
	return &Answer{Grid: s.grid(), Series: all, Fetched: q.fetched, Samples: q.samples}, nil
}

// begin waits for the query's turn, which lasts until end is called. What is asked for
// by several look-ups is as of one moment: what the second has to match hangs on what
// the first has found.
func (q *query) begin(lookups int) (end func(), err error) {
	q.pass, q.store = q.Gate.Pass(), q.DB
	q.pace.Ended = q.pause
	if err := q.pass.Take(q.ctx); err != nil {
		return nil, err
	}
	if lookups < 2 {
		return q.pass.Leave, nil
	}
	m, err := q.DB.Moment()
	if err != nil {
		q.pass.Leave()
		return nil, err
	}
	q.store = m
	return func() {
		m.Close()
		q.pass.Leave()
	}, nil
}

// store is where series are found: as they are now, or as of one moment.
type store interface {
	Select(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) (*tsdb.View, error)
}

// query is one evaluation.
type query struct {
	Params
	ctx      context.Context
	prepared *Prepared
	fetched  int
	samples  int64 // that were read
	texts    int64 // bytes of labels that functions made
	bench    *bench
	pass     budget.Pass
	pace     series.Pace // of kernels
	store    store
}

// sorts tells whether the answer of an expression is put in order.
func sorts(e mql.Expr) bool {
	switch e := e.(type) {
	case *mql.FuncExpr:
		switch strings.ToLower(e.Name) {
		case "sort", "sort_desc", "limit_offset", "sort_by_label", "sort_by_label_desc",
			"sort_by_label_numeric", "sort_by_label_numeric_desc":
			return false
		}
	case *mql.AggrFuncExpr:
		name := strings.ToLower(e.Name)
		return name != "outliersk" && !ranks(name)
	case *mql.BinaryOpExpr:
		return !strings.EqualFold(e.Op, "or")
	}
	return true
}

// ranks tells whether an aggregate is topk, bottomk or one of their kind.
func ranks(name string) bool {
	of, what, _ := strings.Cut(name, "_")
	if of != "topk" && of != "bottomk" {
		return false
	}
	switch what {
	case "", "max", "min", "avg", "median", "last":
		return true
	}
	return false
}

// unique returns an error if two series have the same name. It sorts their labels.
func unique(all []*series.Series) error {
	if len(all) == 1 {
		all[0].Name.Sort()
		return nil
	}
	seen := make(map[string]struct{}, len(all))
	var key []byte
	for _, s := range all {
		key = s.Name.AppendKey(key[:0])
		if _, ok := seen[string(key)]; ok {
			return duplicateError(&s.Name)
		}
		seen[string(key)] = struct{}{}
	}
	return nil
}

// number returns what a number comes to.
func number(s Scope, v float64) []*series.Series {
	return []*series.Series{series.Constant(v, s.grid().N)}
}

// text returns what a string comes to: no values, and the text as the name.
func text(s Scope, v string) []*series.Series {
	all := number(s, math.NaN())
	all[0].Name.Group = v
	return all
}

// pause is called now and then: it returns the error that ended the query, if
// anything did, and lets others go first when they should.
func (q *query) pause() error {
	if err := q.ctx.Err(); err != nil {
		return err
	}
	return q.pass.Yield(q.ctx)
}

// hold counts the memory of so many series on a grid; less than 0 are given back.
func (q *query) hold(n int, g row.Grid) error {
	return q.grow(seriesSize(n, g))
}

// holdText counts the memory of labels until the query ends: series share them, and
// which are garbage nobody knows.
func (q *query) holdText(bytes int64) error {
	err := q.grow(bytes)
	if err == nil {
		q.texts += bytes
	}
	return err
}

func (q *query) grow(bytes int64) error {
	if bytes < 0 {
		q.Meter.Shrink(-bytes)
		return nil
	}
	return q.Meter.Grow(bytes)
}

// used returns how much is counted but for texts.
func (q *query) used() int64 { return q.Meter.Used() - q.texts }

// settle makes what is counted, since so much was used, the series of one expression: what
// they were made of is garbage.
func (q *query) settle(since int64, n int, g row.Grid) error {
	return q.grow(since + seriesSize(n, g) - q.used())
}

// holding is hold for kernels that make series.
func (q *query) holding(s Scope) func(series int) error {
	return func(series int) error { return q.hold(series, s.grid()) }
}

// seriesSize is about what so many series on a grid take.
func seriesSize(n int, g row.Grid) int64 { return int64(n) * (8*int64(g.N) + seriesBytes) }

// seriesBytes is about what a series takes beside its values.
const seriesBytes = 300
