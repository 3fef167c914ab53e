package rollup

import (
	"fmt"
)

// Lookup returns the function of a name of the language, and whether there is
// one over range vectors.
func Lookup(name string) (*Func, bool) {
	f := lookup(name)
	return f, f != nil
}

func lookup(name string) *Func {
	switch name {
	case "rate":
		return rateKind{counter: true, perSecond: true}.function()
	case "increase":
		return rateKind{counter: true}.function()
	case "delta":
		return rateKind{}.function()
	case "irate":
		return instantKind{rate: true}.function()
	case "idelta":
		return instantKind{}.function()
	case "changes":
		return &Func{Window: windowChanges, Floats: floatsChanges}
	case "resets":
		return &Func{Window: windowResets, Floats: floatsResets}
	case "deriv":
		return &Func{Window: windowDeriv, Floats: floatsDeriv}
	case "predict_linear":
		return &Func{Window: windowPredictLinear, Floats: floatsPredictLinear}
	case "double_exponential_smoothing":
		return &Func{Window: windowSmoothing, Floats: floatsSmoothing}
	case "integral":
		return &Func{Window: windowIntegral, Floats: floatsIntegral}
	}
	return lookupOverTime(name)
}

func lookupOverTime(name string) *Func {
	switch name {
	case "avg_over_time":
		return &Func{Window: windowAvg, Floats: floatsAvg}
	case "sum_over_time":
		return &Func{Window: windowSum, Floats: floatsSum}
	case "count_over_time":
		return &Func{Window: windowCount, Floats: floatsCount}
	case "present_over_time", "absent_over_time":
		return &Func{Window: windowPresent, Floats: floatsPresent}
	case "first_over_time":
		return &Func{Window: windowFirst, Floats: floatsFirst}
	case "last_over_time":
		return &Func{Window: windowLast, Floats: floatsLast}
	case "ts_of_first_over_time":
		return &Func{Window: windowFirstTime, Floats: floatsFirstTime}
	case "ts_of_last_over_time":
		return &Func{Window: windowLastTime, Floats: floatsLastTime}
	case "max_over_time":
		return extremeKind{max: true}.function()
	case "min_over_time":
		return extremeKind{}.function()
	case "ts_of_max_over_time":
		return extremeKind{max: true, time: true}.function()
	case "ts_of_min_over_time":
		return extremeKind{time: true}.function()
	case "stddev_over_time":
		return varianceKind{root: true}.function()
	case "stdvar_over_time":
		return varianceKind{}.function()
	case "quantile_over_time":
		return &Func{Window: windowQuantile, Floats: floatsQuantile}
	case "mad_over_time":
		return &Func{Window: windowMad, Floats: floatsMad}
	}
	return nil
}

// KeepsName tells whether the function leaves the metric's name on its series.
func KeepsName(name string) bool {
	return name == "last_over_time" || name == "first_over_time"
}

// Check returns the error of Prometheus' engine if the function does not go
// with a modifier of its range vector.
func Check(name string, anchored, smoothed bool) error {
	switch name {
	case "rate", "increase", "delta":
		return nil
	case "changes", "resets":
		if anchored {
			return nil
		}
	}
	switch {
	case anchored:
		return fmt.Errorf("anchored modifier can only be used with: changes, delta, increase, rate, resets - not with %s", name)
	case smoothed:
		return fmt.Errorf("smoothed modifier can only be used with: delta, increase, rate - not with %s", name)
	}
	return nil
}
