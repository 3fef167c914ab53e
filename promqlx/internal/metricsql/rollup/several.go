package rollup

import (
	"fmt"

	mql "github.com/VictoriaMetrics/metricsql"
)

func severalSpecs() map[string]*spec {
	return map[string]*spec{
		"aggr_over_time":         {family: named},
		"rollup":                 {family: minMax, traits: silence | adjusts | keeps},
		"rollup_candlestick":     {family: candles, traits: silence | adjusts | keeps},
		"rollup_delta":           {family: minMax, traits: silence, prepare: deltas},
		"rollup_deriv":           {family: minMax, traits: silence | adjusts, prepare: derivs},
		"rollup_increase":        {family: minMax, traits: silence | counter, prepare: deltas},
		"rollup_rate":            {family: minMax, traits: silence | adjusts | counter, prepare: derivs},
		"rollup_scrape_interval": {family: minMax, traits: silence | adjusts, prepare: intervals},
	}
}

// callOf returns the rollup call of an expression, which may be in an aggregation
// alone.
func callOf(e mql.Expr) *mql.FuncExpr {
	if a, ok := e.(*mql.AggrFuncExpr); ok {
		e = a.Args[0]
	}
	return e.(*mql.FuncExpr)
}

func text(e mql.Expr) string { return string(e.AppendString(nil)) }

// tagOf returns the second argument of a call, empty if there is none.
func tagOf(e mql.Expr) (string, error) {
	call := callOf(e)
	if len(call.Args) < 2 {
		return "", nil
	}
	if len(call.Args) != 2 {
		return "", fmt.Errorf("unexpected number of args; got %d; want %d", len(call.Args), 2)
	}
	s, ok := call.Args[1].(*mql.StringExpr)
	if !ok {
		return "", fmt.Errorf("unexpected rollup tag type: %s; expecting string", text(call.Args[1]))
	}
	if s.S == "" {
		return "", fmt.Errorf("rollup tag cannot be empty")
	}
	return s.S, nil
}

// minMaxConfigs returns the configurations of rollup and its kin. A single one gets
// no label.
func minMaxConfigs(e mql.Expr) ([]config, error) {
	tag, err := tagOf(e)
	if err != nil {
		return nil, fmt.Errorf("invalid args for %s: %w", text(e), err)
	}
	all := []config{
		{"min", minimum, directMin}, {"max", maximum, directMax}, {"avg", average, directAvg},
	}
	if tag == "" {
		return all, nil
	}
	for _, c := range all {
		if c.tag == tag {
			c.tag = ""
			return []config{c}, nil
		}
	}
	return nil, badTag(e, tag)
}

// candleConfigs returns the configurations of rollup_candlestick. Here a single one
// is labelled too.
func candleConfigs(e mql.Expr) ([]config, error) {
	tag, err := tagOf(e)
	if err != nil {
		return nil, fmt.Errorf("invalid args for %s: %w", text(e), err)
	}
	all := []config{
		{"open", candleOpen, nil}, {"close", candleClose, nil}, {"low", candleLow, nil}, {"high", candleHigh, nil},
	}
	if tag == "" {
		return all, nil
	}
	for _, c := range all {
		if c.tag == tag {
			return []config{c}, nil
		}
	}
	return nil, badTag(e, tag)
}

func badTag(e mql.Expr, tag string) error {
	return fmt.Errorf("unexpected second arg for %s: %q; want `min`, `max` or `avg`", text(e), tag)
}

// namedConfigs returns the configurations of aggr_over_time, and whether one of
// them is of a counter: then all of them are.
func namedConfigs(e mql.Expr) ([]config, bool, error) {
	names, err := namesOf(callOf(e))
	if err != nil {
		return nil, false, fmt.Errorf("invalid args to %s: %w", text(e), err)
	}
	var all []config
	isCounter := false
	for _, name := range names {
		s := aggregatable(name)
		isCounter = isCounter || s.traits&counter != 0
		all = append(all, config{name, s.kernel, s.direct})
	}
	return all, isCounter, nil
}

// namesOf returns the functions that aggr_over_time is to compute.
func namesOf(call *mql.FuncExpr) ([]string, error) {
	if len(call.Args) != 2 {
		return nil, fmt.Errorf("unexpected number of args to aggr_over_time(); got %d; want %d", len(call.Args), 2)
	}
	var names []string
	switch arg := call.Args[0].(type) {
	case *mql.StringExpr:
		names = append(names, arg.S)
	case *mql.FuncExpr:
		if arg.Name != "" {
			return nil, noNames(arg)
		}
		for _, a := range arg.Args {
			s, ok := a.(*mql.StringExpr)
			if !ok {
				return nil, fmt.Errorf("%s cannot be passed here; expecting quoted aggregate function name", text(a))
			}
			names = append(names, s.S)
		}
	default:
		return nil, noNames(arg)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("aggr_over_time() must contain at least a single aggregate function name")
	}
	for _, name := range names {
		if aggregatable(name) == nil {
			return nil, fmt.Errorf("%q cannot be used in `aggr_over_time` function; expecting quoted aggregate function name", name)
		}
	}
	return names, nil
}

func noNames(e mql.Expr) error {
	return fmt.Errorf("%s cannot be passed to aggr_over_time(); expecting quoted aggregate function name or a list of quoted aggregate function names", text(e))
}

// aggregatable returns the function that aggr_over_time knows by that name, nil if
// there is none. It knows outlier_iqr_over_time by another name than queries do.
func aggregatable(name string) *spec {
	const iqr = "iqr_over_time"
	if name == iqr {
		return specs["outlier_"+iqr]
	}
	if s := specs[name]; s != nil && s.traits&inAggr != 0 {
		return s
	}
	return nil
}

// beforeStep returns the samples before the step itself, and the value that was
// there when the window began, NaN if none was. (getCandlestickValues and
// getFirstValueForCandlestick of VictoriaMetrics' promql/rollup.go.)
func beforeStep(w *window) (values []float64, first float64) {
	n := len(w.values)
	for n > 0 && w.timestamps[n-1] >= w.t {
		n--
	}
	first = nan
	if w.prevT+w.width >= w.t {
		first = w.prev
	}
	return w.values[:n], first
}

func candleOpen(w *window) float64 {
	values, first := beforeStep(w)
	if !isNaN(first) || len(values) == 0 {
		return first
	}
	return values[0]
}

func candleClose(w *window) float64 {
	values, first := beforeStep(w)
	if len(values) == 0 {
		return first
	}
	return values[len(values)-1]
}

func candleHigh(w *window) float64 {
	values, high := beforeStep(w)
	if isNaN(high) && len(values) > 0 {
		high = values[0]
	}
	for _, v := range values {
		if v > high {
			high = v
		}
	}
	return high
}

func candleLow(w *window) float64 {
	values, low := beforeStep(w)
	if isNaN(low) && len(values) > 0 {
		low = values[0]
	}
	for _, v := range values {
		if v < low {
			low = v
		}
	}
	return low
}
