package transform_test

import "testing"

func TestPrometheusBuckets(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"mixed": {
			`m{vmrange="2...3", x="1"} 1 _ 3 0`, `m{le="5"} 1 1 1 1`, `m{x="1", vmrange="1...2"} 4 5 _ 0`,
			`m{vmrange="7...8", x="1"} 0 _ 0 -1`, `m{vmrange="9...Inf", x="2"} 1 1 1 1`, `m{} 7 7 7 7`,
			`m{vmrange="9..10"} 7 7 7 7`, `m{vmrange="a...9"} 7 7 7 7`, `m{vmrange="9...a"} 7 7 7 7`,
		},
		"apart": {`m{vmrange="0...1"} 1 1 1 1`, `m{vmrange="3...4"} 2 2 2 2`},
		"same":  {`m{vmrange="1...3"} 1 _ _ 1`, `m{vmrange="2...3"} _ 2 2 _`, `m{vmrange="0...3"} 5 5 5 _`},
	}}
	b.is(`prometheus_buckets(mixed)`, `m{le="5"} 1 1 1 1`,
		`m{x="1", le="1"} 0 0 0 0`, `m{x="1", le="2"} 4 5 0 0`, `m{x="1", le="3"} 5 5 3 0`, `m{x="1", le="+Inf"} 5 5 3 0`,
		`m{x="2", le="9"} 0 0 0 0`, `m{x="2", le="Inf"} 1 1 1 1`)
	b.is(`prometheus_buckets(apart)`, `m{le="1"} 1 1 1 1`, `m{le="3"} 1 1 1 1`, `m{le="4"} 3 3 3 3`, `m{le="+Inf"} 3 3 3 3`)
	// The second fills gaps of the first, the third has too much in common with it. Where
	// ranges overlap, bounds do not ascend.
	b.is(`prometheus_buckets(same)`, `m{le="1"} 0 0 0 0`, `m{le="3"} 1 2 2 1`, `m{le="2"} 1 2 2 1`, `m{le="0"} 1 2 2 1`, `m{le="+Inf"} 1 2 2 1`)
	b.fails(`prometheus_buckets()`, `unexpected number of args; got 0; want 1`)
}

func TestBucketsLimit(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"h": {
			`h{le="1", x="1"} 1 1 1 1`, `h{le="4", x="1"} 13 13 13 13`, `h{le="2", x="1"} 10 10 10 10`,
			`h{le="3", x="1"} 11 11 11 11`, `h{le="+Inf", x="1"} 14 14 14 14`, `h{x="2", le="7"} 1 _ 1 1`, `h{le="seven"} 1 1 1 1`,
		},
	}}
	b.is(`buckets_limit(4, h)`, `h{le="1", x="1"} 1 1 1 1`, `h{le="2", x="1"} 10 10 10 10`,
		`h{le="4", x="1"} 13 13 13 13`, `h{le="+Inf", x="1"} 14 14 14 14`, `h{x="2", le="7"} 1 _ 1 1`)
	three := []string{`h{le="1", x="1"} 1 1 1 1`, `h{le="4", x="1"} 13 13 13 13`, `h{le="+Inf", x="1"} 14 14 14 14`, `h{x="2", le="7"} 1 _ 1 1`}
	b.is(`buckets_limit(3, h)`, three...)
	b.is(`buckets_limit(1, h)`, three...)
	b.is(`buckets_limit(0, h)`)
	b.is(`buckets_limit(-3, h)`)
	b.is(`buckets_limit("x", h)`)
	b.is(`buckets_limit(3, none)`)
	b.fails(`buckets_limit(h, h)`, `arg #1 must be a scalar`)
	b.fails(`buckets_limit(3)`, `unexpected number of args; got 1; want 2`)
}

func TestHistogramQuantile(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"h": {
			`h_bucket{le="+Inf", x="1"} 10 0 _ 8`, `h_bucket{x="1", le="1"} 2 0 _ 4`, `h_bucket{le="2", x="1"} 6 0 4 2`,
			`h_bucket{le="1", x="2"} 0 1 1 1`, `h_bucket{le="no", x="1"} 9 9 9 9`, `h_bucket{x="1"} 9 9 9 9`,
		},
		"twice": {`h{le="1"} 1 1 1 1`, `h{le="1.0"} 1 1 1 _`, `h{le="2"} 4 4 4 4`},
		"phi":   {`p{} 0.2 0.5 0.75 1`},
	}}
	b.is(`histogram_quantile(0.5, h)`, `{x="1"} 1.75 _ 1.5 1`, `{x="2"} _ 0.5 0.5 0.5`)
	b.is(`histogram_quantile(phi, h)`, `{x="1"} 1 _ 1.75 2`, `{x="2"} _ 0.5 0.75 1`)
	b.is(`histogram_quantile(0.9, h, "x")`,
		`{x="1"} 2 _ 1.9 2`, `{x="lower"} 2 _ 1 2`, `{x="upper"} +Inf _ 2 +Inf`,
		`{x="2"} _ 0.9 0.9 0.9`, `{x="lower"} _ 0 0 0`, `{x="upper"} _ 1 1 1`)
	b.is(`histogram_quantile(-0.1, h, "b")`,
		`{x="1"} -Inf _ -Inf -Inf`, `{x="1", b="lower"} -Inf _ -Inf -Inf`, `{x="1", b="upper"} 2 _ 0 4`,
		`{x="2"} _ -Inf -Inf -Inf`, `{x="2", b="lower"} _ -Inf -Inf -Inf`, `{x="2", b="upper"} _ 1 1 1`)
	b.values(`histogram_quantile(1.1, h, "b")`, `+Inf _ +Inf +Inf, 10 _ 4 8, +Inf _ +Inf +Inf, _ +Inf +Inf +Inf, _ 1 1 1, _ +Inf +Inf +Inf`)
	b.values(`histogram_quantile("x", h)`, `_ _ _ _, _ _ _ _`)
	b.is(`histogram_quantile(0.5, twice)`, `{} 1 1 1 1.5`)
	b.is(`histogram_quantiles("phi", 0.5, 1e-7, "x", h)`,
		`{x="1", phi="0.5"} 1.75 _ 1.5 1`, `{x="2", phi="0.5"} _ 0.5 0.5 0.5`,
		`{x="1", phi="1e-07"} 5e-07 _ 1.0000001 2e-07`, `{x="2", phi="1e-07"} _ 1e-07 1e-07 1e-07`,
		`{x="1", phi="NaN"} _ _ _ _`, `{x="2", phi="NaN"} _ _ _ _`)

	b.fails(`histogram_quantile(1)`, `unexpected number of args; got 1; want 2...3`)
	b.fails(`histogram_quantile(h, h)`, `cannot parse phi: arg #1 must be a scalar`)
	b.fails(`histogram_quantile(1, h, 1)`, `cannot parse boundsLabel (arg #3): arg #3 must be a string`)
	b.fails(`histogram_quantiles("x", h)`, `unexpected number of args: 2; expecting at least 3 args`)
	b.fails(`histogram_quantiles(1, 1, h)`, `cannot obtain dstLabel: arg #1 must be a string`)
	b.fails(`histogram_quantiles("x", 1, h, h)`, `cannot parse phi: arg #2 must be a scalar`)
}

func TestHistogramShare(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"h":  {`h_bucket{le="1"} 2 0 _ 4`, `h_bucket{le="2"} 6 0 4 2`, `h_bucket{le="+Inf"} 10 0 _ 8`},
		"f":  {`h_bucket{le="1"} 1 1 1 1`, `h_bucket{le="3"} 4 4 4 4`},
		"le": {`p{} 1 -1 _ Inf`},
	}}
	b.is(`histogram_share(1.5, h, "b")`, `{} 0.4 _ 0.5 0.5`, `{b="lower"} 0.2 _ 0 0.5`, `{b="upper"} 0.6 _ 1 0.5`)
	b.values(`histogram_share(le, f, "b")`, `0.25 0 _ 1, 0.25 0 _ 1, 0.25 0 _ 1`)
	b.values(`histogram_share(3, f)`, `1 1 1 1`)
	b.values(`histogram_share(2, h, "b")`, `0.6 _ 1 0.5, 0.6 _ 1 0.5, 1 1 1 1`)
	b.values(`histogram_fraction(1, 2, f)`, `0.375 0.375 0.375 0.375`)
	b.values(`histogram_fraction(-1, Inf, f)`, `1 1 1 1`)
	b.values(`histogram_fraction("x", 2, f)`, `_ _ _ _`)

	b.fails(`histogram_share(1)`, `unexpected number of args; got 1; want 2...3`)
	b.fails(`histogram_share(f, f)`, `cannot parse le: arg #1 must be a scalar`)
	b.fails(`histogram_share(1, f, f)`, `cannot parse boundsLabel (arg #3): arg #3 must be a string`)
	b.fails(`histogram_fraction(f, 1, f)`, `cannot parse lower le: arg #1 must be a scalar`)
	b.fails(`histogram_fraction(1, f, f)`, `cannot parse upper le: arg #2 must be a scalar`)
	b.fails(`histogram_fraction(2, 1.5, f)`, `lower le cannot be greater than upper le; got lower le: 2.000000, upper le: 1.500000`)
	b.fails(`histogram_fraction(1, 2)`, `unexpected number of args; got 2; want 3`)
}

func TestHistogramMoments(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"h": {`h{le="4", x="1"} 4 0 _ 2`, `h{le="2", x="1"} 2 0 1 1`, `h{le="+Inf", x="1"} 9 9 9 9`},
		"v": {`v{vmrange="2...4"} 3 3 3 3`},
	}}
	b.is(`histogram_avg(h)`, `{x="1"} 2 _ _ 2`)
	b.is(`histogram_stdvar(h)`, `{x="1"} 1 _ _ 1`)
	b.is(`histogram_stddev(v)`, `{} 0 0 0 0`)
	b.values(`histogram_avg(v)`, `3 3 3 3`)
	b.fails(`histogram_avg()`, `unexpected number of args; got 0; want 1`)
}
