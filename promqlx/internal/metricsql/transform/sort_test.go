package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/transform"
)

func TestSort(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m": {`m{a="3"} 1 2 3 4`, `m{a="1"} 9 9 9 _`, `m{a="2"} 0 0 2 4`, `m{a="4"} _ _ _ _`},
	}}
	b.is(`sort(m)`, `m{a="4"} _ _ _ _`, `m{a="1"} 9 9 9 _`, `m{a="2"} 0 0 2 4`, `m{a="3"} 1 2 3 4`)
	b.is(`sort_desc(m)`, `m{a="4"} _ _ _ _`, `m{a="1"} 9 9 9 _`, `m{a="3"} 1 2 3 4`, `m{a="2"} 0 0 2 4`)
	b.fails(`sort()`, `unexpected number of args; got 0; want 1`)
}

func TestSortByLabel(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"m": {`m{a="y", n="x10"} 1 1 1 1`, `m{a="x", n="x9"} 2 2 2 2`, `m{a="y", n="x9"} 3 3 3 3`, `m{n=""} 4 4 4 4`},
	}}
	b.values(`sort_by_label(m, "a")`, `4 4 4 4, 2 2 2 2, 1 1 1 1, 3 3 3 3`)
	b.values(`sort_by_label_desc(m, "a")`, `1 1 1 1, 3 3 3 3, 2 2 2 2, 4 4 4 4`)
	b.values(`sort_by_label(m, "a", "n")`, `4 4 4 4, 2 2 2 2, 1 1 1 1, 3 3 3 3`)
	b.values(`sort_by_label_numeric(m, "a", "n")`, `4 4 4 4, 2 2 2 2, 3 3 3 3, 1 1 1 1`)
	b.values(`sort_by_label_numeric(m, "n")`, `4 4 4 4, 2 2 2 2, 3 3 3 3, 1 1 1 1`)
	b.values(`sort_by_label_numeric_desc(m, "n")`, `1 1 1 1, 2 2 2 2, 3 3 3 3, 4 4 4 4`)
	b.values(`sort_by_label(m, "none")`, `1 1 1 1, 2 2 2 2, 3 3 3 3, 4 4 4 4`)
	b.fails(`sort_by_label(m)`, `expecting at least 2 args; got 1 args`)
	b.fails(`sort_by_label_desc(m, "a", 1)`, `cannot parse label #2 for sorting: arg #2 must be a string`) // always the second
	b.fails(`sort_by_label_numeric(m, "a", 1)`, `cannot parse label #2 for sorting: arg #3 must be a string`)
	b.fails(`sort_by_label_numeric_desc(m)`, `expecting at least 2 args; got 1 args`)
}

func TestLessNumeric(t *testing.T) {
	f := func(a, b string) {
		t.Helper()
		require.True(t, transform.LessNumeric(a, b))
		require.False(t, transform.LessNumeric(b, a))
	}
	same := func(a, b string) {
		t.Helper()
		require.False(t, transform.LessNumeric(a, b))
		require.False(t, transform.LessNumeric(b, a))
	}
	f("", "0")
	f("9", "10")
	f("-10", "-9")
	f("9.5", "9.50001")
	f("1", "a")
	f("a", "b")
	f("a2", "a10")
	f("a", "a1")
	f("1a", "1b")
	f("10.0.1.10:80", "10.0.1.9:80") // 1.10 and 1.9 are taken for numbers
	f("1.000e+02...1.136e+02", "1.000e+03...1.136e+03")
	same("1.0", "+1")
	same("", "")
	same("x-", "x-")
	long := "1"
	for range 400 {
		long += "0"
	}
	f("5", long) // too long for a number
}

func FuzzLessNumeric(f *testing.F) {
	f.Add("a1.5b", "a-2b")
	f.Add("+", "-.")
	f.Fuzz(func(t *testing.T, a, b string) {
		if transform.LessNumeric(a, b) && transform.LessNumeric(b, a) {
			t.Fatalf("both of %q and %q are less", a, b)
		}
	})
}
