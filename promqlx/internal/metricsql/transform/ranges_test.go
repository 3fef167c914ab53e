package transform_test

import "testing"

func TestRunning(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m": {`m{a="b"} 3 _ 1 8`, `m{a="c"} _ 5 6 _`, `m{a="d"} _ _ _ _`},
	}}
	b.is(`running_sum(m)`, `{a="b"} 3 3 4 12`, `{a="c"} _ 5 11 11`, `{a="d"} _ _ _ _`)
	b.is(`running_max(m) keep_metric_names`, `{a="b"} 3 3 3 8`, `{a="c"} _ 5 6 6`, `{a="d"} _ _ _ _`) // which does nothing
	b.values(`running_min(m)`, `3 3 1 1, _ 5 5 5, _ _ _ _`)
	b.values(`running_avg(m)`, `3 3 2.3333333333333335 3.75, _ 5 5.5 5.5, _ _ _ _`) // a step without a value is a step
	b.is(`range_sum(m)`, `{a="b"} 12 12 12 12`, `{a="c"} 11 11 11 11`, `{a="d"} _ _ _ _`)
	b.values(`range_max(m)`, `8 8 8 8, 6 6 6 6, _ _ _ _`)
	b.values(`range_min(m)`, `1 1 1 1, 5 5 5 5, _ _ _ _`)
	b.values(`range_avg(m)`, `3.75 3.75 3.75 3.75, 5.5 5.5 5.5 5.5, _ _ _ _`)
	b.fails(`running_sum(m, m)`, `unexpected number of args; got 2; want 1`)
	b.fails(`range_avg()`, `unexpected number of args; got 0; want 1`)
}

func TestGaps(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m":      {`m{a="b"} 3 _ _ 9`, `m{a="c"} _ 5 _ _`, `m{a="d"} _ _ _ _`},
		"infs":   {`m{} -Inf _ _ 5`, `m{} 5 _ _ Inf`, `m{} Inf _ 3 4`},
		"resets": {`m{a="b"} 10 _ 3 4`, `m{a="c"} _ 100 95 1`, `m{} -1 -2 _ 5`},
		"f":      {`f{} 0.5 0.25 2 -1`},
		"s":      {`m{a="b"} _ 8 _ 4`, `m{a="c"} Inf 2 6 10`, `m{} 1 Inf 4 5`, `m{} Inf _ 1 2`, `m{} Inf Inf Inf Inf`},
	}}
	b.is(`keep_last_value(m)`, `m{a="b"} 3 3 3 9`, `m{a="c"} _ 5 5 5`, `m{a="d"} _ _ _ _`)
	b.is(`keep_next_value(m)`, `m{a="b"} 3 9 9 9`, `m{a="c"} 5 5 _ _`, `m{a="d"} _ _ _ _`)
	b.is(`interpolate(m)`, `m{a="b"} 3 5 7 9`, `m{a="c"} _ 5 _ _`, `m{a="d"} _ _ _ _`)
	b.values(`interpolate(infs)`, `-Inf _ 5 5, 5 +Inf +Inf +Inf, +Inf _ 3 4`)
	b.is(`remove_resets(resets)`, `m{a="b"} 10 _ 13 14`, `m{a="c"} _ 100 100 101`, `m{} -1 -3 _ 4`)
	b.is(`smooth_exponential(s, 0.5)`, `m{a="b"} _ 8 _ 6`, `m{a="c"} +Inf 2 4 7`, `m{} 1 1 2.5 3.75`, `m{} +Inf _ _ _`, `m{} +Inf +Inf +Inf +Inf`)
	b.values(`smooth_exponential(s, f)`, `_ 8 _ 8, +Inf 2 6 6, 1 1 4 4, +Inf _ _ _, +Inf +Inf +Inf +Inf`)
	b.values(`smooth_exponential(s, "x")`, `_ 8 _ 4, +Inf 2 6 10, 1 1 4 5, +Inf _ _ _, +Inf +Inf +Inf +Inf`)
	b.fails(`smooth_exponential(s)`, `unexpected number of args; got 1; want 2`)
	b.fails(`smooth_exponential(s, none)`, `arg #2 must be a scalar`)
	b.fails(`interpolate(s, s)`, `unexpected number of args; got 2; want 1`)
}

func TestRanges(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m":    {`m{a="b"} _ 2 4 9`, `m{a="c"} 5 _ _ _`, `m{a="d"} _ _ _ _`},
		"infs": {`m{} 1 Inf 2 3`, `m{} 7 7 7 7`},
		"line": {`m{} 1 3 5 7`, `m{} 1 _ 5 _`, `m{} _ _ 5 _`, `m{} 4 4 4 4`, `m{} _ _ _ _`},
	}}
	b.is(`range_first(m)`, `m{a="b"} 2 2 2 2`, `m{a="c"} 5 5 5 5`, `m{a="d"} _ _ _ _`)
	b.is(`range_last(m)`, `m{a="b"} 9 9 9 9`, `m{a="c"} 5 5 5 5`, `m{a="d"} _ _ _ _`)
	b.is(`range_mad(m)`, `m{a="b"} 2 2 2 2`, `m{a="c"} 0 0 0 0`, `m{a="d"} _ _ _ _`)
	b.is(`range_stdvar(m)`, `m{a="b"} 8.666666666666666 8.666666666666666 8.666666666666666 8.666666666666666`,
		`m{a="c"} 0 0 0 0`, `m{a="d"} _ _ _ _`)
	b.values(`range_stddev(m)`, `2.943920288775949 2.943920288775949 2.943920288775949 2.943920288775949, 0 0 0 0, _ _ _ _`)
	b.is(`range_zscore(m)`, `m{a="b"} _ -1.0190493307301363 -0.3396831102433787 1.3587324409735149`, `m{a="c"} _ _ _ _`, `m{a="d"} _ _ _ _`)
	b.is(`range_normalize(infs, m, 3)`, `m{} _ _ _ _`, `m{a="b"} _ 0 0.2857142857142857 1`, `m{a="c"} _ _ _ _`, `{} _ _ _ _`)
	b.is(`range_normalize()`)
	b.values(`range_quantile(0.5, m)`, `4 4 4 4, 5 5 5 5, _ _ _ _`)
	b.values(`range_quantile(0.25, m)`, `3 3 3 3, 5 5 5 5, _ _ _ _`)
	b.values(`range_quantile(-1, m)`, `-Inf -Inf -Inf -Inf, -Inf -Inf -Inf -Inf, _ _ _ _`)
	b.values(`range_quantile(2, m)`, `+Inf +Inf +Inf +Inf, +Inf +Inf +Inf +Inf, _ _ _ _`)
	b.values(`range_quantile("x", m)`, `4 4 4 4, _ _ _ _, _ _ _ _`) // the last but one
	b.values(`range_trim_spikes(0.5, m)`, `_ _ 4 _, 5 _ _ _, _ _ _ _`)
	b.values(`range_trim_spikes("x", m)`, `_ 2 4 9, 5 _ _ _, _ _ _ _`)
	b.values(`range_trim_outliers(1, m)`, `_ 2 4 _, 5 _ _ _, _ _ _ _`)
	b.values(`range_trim_zscore(-1.2, m)`, `_ 2 4 _, 5 _ _ _, _ _ _ _`)
	b.values(`range_linear_regression(line)`, `1 3 5 7, 1 3 5 7, 5 5 5 5, 4 4 4 4, _ _ _ _`)
	for _, f := range []string{"range_quantile", "range_trim_spikes", "range_trim_outliers", "range_trim_zscore"} {
		b.fails(f+`(1)`, `unexpected number of args; got 1; want 2`)
		b.fails(f+`(m, m)`, `arg #1 must be a scalar`)
	}
}
