package transform

import (
	"fmt"
	"strings"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// Call is a function and its evaluated arguments.
type Call struct {
	Expr *mql.FuncExpr
	Grid row.Grid // of at least one step
	// End is the end of the evaluation as it was given, in milliseconds, for end():
	// it may lie behind the last step, by less than a step. Any other value, such as
	// zero, means the last step.
	End int64
	// Args has one set of series for each argument of Expr, all on Grid. They belong to
	// the function from now on.
	Args [][]*series.Series
	// Now is the clock of now() and of rand() without a seed; nil is time.Now.
	Now func() time.Time
	// Pace is asked whether to go on; nil goes on. If it ends, so does Eval with its
	// error.
	Pace *series.Pace
	// Hold is asked for room before so many series more than there were are made; less
	// than 0 are given back. Nil has room for any number.
	Hold func(series int) error
	// HoldText is asked for room for labels before those that are large are made; less
	// than 0 bytes are given back. Nil has room for any.
	HoldText func(bytes int64) error
}

// call is a Call under way.
type call struct {
	*Call
	keepNames bool  // what one would say of the values of the arguments still holds
	owed      int64 // bytes of labels that HoldText is still to be asked for
}

type function func(c *call) ([]*series.Series, error)

// Known tells whether there is a function of that name, in any case. The empty name
// is one: a list in parentheses, which is a union.
func Known(name string) bool { return functions[strings.ToLower(name)] != nil }

// Eval calls a function. The answer may hold series without any value. Errors are
// those of a query that asks for what cannot be; they do not say of which function.
// Cost: a few passes over the values, no copies of them but for histograms.
func Eval(c *Call) ([]*series.Series, error) {
	name := strings.ToLower(c.Expr.Name)
	f := functions[name]
	if f == nil {
		return nil, fmt.Errorf("unknown func %q", c.Expr.Name)
	}
	under := &call{Call: c, keepNames: c.Expr.KeepMetricNames || keepsName(name)}
	all, err := f(under)
	if ended := c.Pace.Err(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, err
	}
	return all, under.settle()
}

// keepsName tells of functions of one value after another whether their answer means
// the same as their argument. (The part of transformFuncsKeepMetricName of
// VictoriaMetrics' promql/transform.go that counts: functions of a whole series never
// ask for it.)
func keepsName(name string) bool {
	switch name {
	case "ceil", "clamp", "clamp_max", "clamp_min", "floor", "round":
		return true
	}
	return false
}

// apply changes the values of series one after another, and drops their metric's
// name unless it is kept.
func (c *call) apply(all []*series.Series, change func(values []float64)) []*series.Series {
	for _, s := range all {
		if !c.keepNames {
			s.Name.Group = ""
		}
		change(s.Values)
		if c.Pace.Over(mathWork * len(s.Values)) {
			break
		}
	}
	return all
}

// How many values could be looked at while a function of mathematics is computed, or
// one finds its place among others.
const (
	mathWork = 4
	sortWork = 16
)

// hold asks for room for so many more series.
func (c *call) hold(n int) error {
	if c.Hold == nil {
		return nil
	}
	return c.Hold(n)
}

// constant is one series without labels.
func (c *call) constant(v float64) []*series.Series {
	return []*series.Series{series.Constant(v, c.Grid.N)}
}

func (c *call) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}
