package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMath(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m":    {`m{a="b"} -2.5 0 _ 1.25`},
		"two":  {`m{a="1"} -1 2 _ 4`, `m{a="2"} _ 3 5 -7`},
		"lim":  {`m{a="b"} 1 _ 3 -1`},
		"bits": {`m{} 6 _ 5.9 3`},
	}}
	b.is(`abs(m)`, `{a="b"} 2.5 0 _ 1.25`)
	b.is(`ABS(m) keep_metric_names`, `m{a="b"} 2.5 0 _ 1.25`)
	b.is(`ceil(m)`, `m{a="b"} -2 0 _ 2`)
	b.is(`floor(m)`, `m{a="b"} -3 0 _ 1`)
	b.is(`sgn(m)`, `{a="b"} -1 0 0 1`)
	b.is(`sqrt(two)`, `{a="1"} _ 1.4142135623730951 _ 2`, `{a="2"} _ 1.7320508075688772 2.23606797749979 _`)
	b.is(`ln(m)`, `{a="b"} _ -Inf _ 0.22314355131420976`)
	b.values(`exp(0)`, `1 1 1 1`)
	b.values(`log2(8)`, `3 3 3 3`)
	b.values(`log10(100)`, `2 2 2 2`)
	b.values(`deg(pi())`, `180 180 180 180`)
	b.values(`rad(180)`, `3.141592653589793 3.141592653589793 3.141592653589793 3.141592653589793`)
	for _, f := range []string{"sin", "asin", "sinh", "asinh", "tan", "atan", "tanh", "atanh", "acosh"} {
		arg := "0"
		if f == "acosh" {
			arg = "1"
		}
		b.values(f+`(`+arg+`)`, `0 0 0 0`)
	}
	b.values(`cos(0)`, `1 1 1 1`)
	b.values(`cosh(0)`, `1 1 1 1`)
	b.values(`acos(1)`, `0 0 0 0`)
	b.fails(`abs()`, `unexpected number of args; got 0; want 1`)
	b.fails(`abs(m, m)`, `unexpected number of args; got 2; want 1`)

	b.is(`clamp(m, -1, 1)`, `m{a="b"} -1 0 _ 1`)
	b.is(`clamp(m, 1, -1)`, `m{a="b"} 1 -1 _ -1`) // no order of bounds is asked for
	b.is(`clamp_max(m, lim)`, `m{a="b"} -2.5 0 _ -1`)
	b.is(`clamp_min(m, lim)`, `m{a="b"} 1 0 _ 1.25`)
	b.fails(`clamp(m, two, 1)`, `arg #2 must be a scalar`)
	b.fails(`clamp(m, 1, two)`, `arg #3 must be a scalar`)
	b.fails(`clamp(m, 1)`, `unexpected number of args; got 2; want 3`)
	b.fails(`clamp_min(m, two)`, `arg #2 must be a scalar`)
	b.fails(`clamp_max(m)`, `unexpected number of args; got 1; want 2`)

	b.is(`bitmap_and(bits, 3)`, `{} 2 _ 1 3`)
	b.is(`bitmap_or(bits, 3)`, `{} 7 _ 7 3`)
	b.is(`bitmap_xor(bits, lim)`, `{} 7 _ 6 1.8446744073709552e+19`)
	b.fails(`bitmap_or(bits, two)`, `arg #2 must be a scalar`)
}

func TestRound(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m":  {`m{a="b"} -2.5 2.4449 _ 1234567.25`},
		"to": {`m{} 1 0.1 1 10`},
	}}
	b.is(`round(m)`, `m{a="b"} -3 2 _ 1.234567e+06`)
	b.is(`round(m, 0.01)`, `m{a="b"} -2.5 2.44 _ 1.23456725e+06`)
	b.is(`round(m, 0.25)`, `m{a="b"} -2.5 2.5 _ 1.23456725e+06`)
	b.is(`round(m, 1000)`, `m{a="b"} 0 0 _ 1.235e+06`)
	b.is(`round(m, to)`, `m{a="b"} -3 2.4 _ 1.23457e+06`)
	b.is(`round(m, 0)`, `m{a="b"} _ _ _ _`)
	b.is(`round(m, "x")`, `m{a="b"} _ _ _ _`)
	b.fails(`round(m, none)`, `arg #2 must be a scalar`)
	b.fails(`round()`, `unexpected number of args: 0; want 1 or 2`)
	b.fails(`round(m, 1, 1)`, `unexpected number of args: 3; want 1 or 2`)
}

func TestRandom(t *testing.T) {
	b := &bench{t: t}
	b.values(`rand(0)`, `0.9451961492941164 0.24496508529377975 0.6559562651954052 0.05434383959970039`)
	b.values(`rand(0.9)`, `0.9451961492941164 0.24496508529377975 0.6559562651954052 0.05434383959970039`)
	b.values(`rand_normal(7)`, b.must(`rand_normal(7)`))
	require.NotEqual(t, b.must(`rand_normal(7)`), b.must(`rand_normal(8)`))
	require.NotEqual(t, b.must(`rand_exponential(7)`), b.must(`rand(7)`))
	require.Equal(t, b.must(`rand()`), b.must(`rand(5500000000)`), "without a seed it is the time")
	b.fails(`rand(1, 2)`, `unexpected number of args; got 2; want 0 or 1`)
	b.fails(`rand(none)`, `arg #1 must be a scalar`)
}

// must returns the values of the only series.
func (b *bench) must(query string) string {
	b.t.Helper()
	got, err := b.eval(query)
	require.NoError(b.t, err)
	require.Len(b.t, got, 1)
	return got[0][len("{} "):]
}

func TestDates(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m": {`m{a="b"} -1 _ 1709251199.9 4107456000`}, // 1969-12-31, leap day's last second, 2100-02-28
	}}
	b.values(`time()`, `1.709208e+09 1.70920806e+09 1.70920812e+09 1.70920818e+09`)
	b.values(`start()`, `1.709208e+09 1.709208e+09 1.709208e+09 1.709208e+09`)
	b.values(`step()`, `60 60 60 60`)
	b.values(`now()`, `5.5 5.5 5.5 5.5`)
	b.values(`end()`, `1.70920818e+09 1.70920818e+09 1.70920818e+09 1.70920818e+09`)
	b.end = grid().End() + 59_999
	b.values(`end()`, `1.709208239999e+09 1.709208239999e+09 1.709208239999e+09 1.709208239999e+09`)
	b.end = grid().End() + 60_000
	b.values(`end()`, `1.70920818e+09 1.70920818e+09 1.70920818e+09 1.70920818e+09`)

	b.values(`minute()`, `0 1 2 3`)
	b.values(`hour()`, `12 12 12 12`)
	b.values(`day_of_week()`, `4 4 4 4`)
	b.is(`year(m)`, `{a="b"} 1969 _ 2024 2100`)
	b.is(`month(m) keep_metric_names`, `m{a="b"} 12 _ 2 2`)
	b.is(`days_in_month(m)`, `{a="b"} 31 _ 29 28`)
	b.is(`day_of_month(m)`, `{a="b"} 31 _ 29 28`)
	b.is(`day_of_year(m)`, `{a="b"} 365 _ 60 59`)
	b.values(`days_in_month(951782400)`, `29 29 29 29`) // 2000-02-29
	b.values(`days_in_month(1714521600)`, `31 31 31 31`)
	b.values(`days_in_month(1711929600)`, `30 30 30 30`)
	b.fails(`hour(m, m)`, `too many args; got 2; want up to 1`)
	for _, f := range []string{"time", "now", "start", "end", "step", "pi"} {
		b.fails(f+`(1)`, `unexpected number of args; got 1; want 0`)
	}

	b.values(`timezone_offset("Europe/Paris")`, `3600 3600 3600 3600`)
	b.values(`timezone_offset("America/St_Johns")`, `-12600 -12600 -12600 -12600`)
	b.values(`timezone_offset("")`, `0 0 0 0`)
	b.fails(`timezone_offset("No/Where")`, `cannot load timezone "No/Where": unknown time zone No/Where`)
	b.fails(`timezone_offset(1)`, `cannot get timezone name: arg #1 must be a string`)
}
