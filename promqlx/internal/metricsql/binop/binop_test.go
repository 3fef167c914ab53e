package binop_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/binop"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// read reads series like `up{b=1,a=2} 1 - 3`, where - is no value, one after a
// semicolon each.
func read(text string) []*series.Series {
	var out []*series.Series
	for line := range strings.SplitSeq(text, ";") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		s := &series.Series{}
		name, tags, _ := strings.Cut(strings.TrimSuffix(fields[0], "}"), "{")
		s.Name.Group = name
		for tag := range strings.SplitSeq(tags, ",") {
			if key, value, ok := strings.Cut(tag, "="); ok {
				s.Name.Add(key, value)
			}
		}
		for _, field := range fields[1:] {
			v := math.NaN()
			if field != "-" {
				v, _ = strconv.ParseFloat(field, 64)
			}
			s.Values = append(s.Values, v)
		}
		out = append(out, s)
	}
	return out
}

// write is the way back; labels are in the order they are in.
func write(all []*series.Series) []string {
	out := []string{}
	for _, s := range all {
		var tags []string
		for _, t := range s.Name.Tags {
			tags = append(tags, t.Key+"="+t.Value)
		}
		line := s.Name.Group + "{" + strings.Join(tags, ",") + "}"
		for _, v := range s.Values {
			if math.IsNaN(v) {
				line += " -"
			} else {
				line += " " + strconv.FormatFloat(v, 'g', -1, 64)
			}
		}
		out = append(out, line)
	}
	return out
}

func parse(t testing.TB, query string) *mql.BinaryOpExpr {
	t.Helper()
	e, err := mql.Parse(query)
	require.NoError(t, err)
	return e.(*mql.BinaryOpExpr)
}

func eval(t testing.TB, query, left, right string) ([]*series.Series, error) {
	t.Helper()
	c := &binop.Call{Expr: parse(t, query), Left: read(left), Right: read(right), Grid: row.Grid{Step: 1, N: 4}}
	return binop.Eval(c)
}

// good returns a check of what a query evaluates to.
func good(t *testing.T) func(query, left, right string, want ...string) {
	return func(query, left, right string, want ...string) {
		t.Helper()
		got, err := eval(t, query, left, right)
		require.NoError(t, err, query)
		require.Equal(t, append([]string{}, want...), write(got), query)
	}
}

// bad returns a check of the error that a query ends with.
func bad(t *testing.T) func(query, left, right, want string) {
	return func(query, left, right, want string) {
		t.Helper()
		_, err := eval(t, query, left, right)
		require.EqualError(t, err, want, query)
	}
}

func TestArithmetic(t *testing.T) {
	f := good(t)
	f("a + b", "a{x=1} 1 - 3 4", "b{x=1} 1 2 - -1", "{x=1} 2 - - 3")
	f("a - b", "a{x=1} 1 - 3 4", "b{x=1} 1 2 - -1", "{x=1} 0 - - 5")
	f("a * b", "a{x=1} 1 - 3 4", "b{x=1} 1 2 - -1", "{x=1} 1 - - -4")
	f("a / b", "a{x=1} 1 0 -3 4", "b{x=1} 0 0 0 -8", "{x=1} +Inf - -Inf -0.5")
	f("a % b", "a{x=1} -7 7 7 5", "b{x=1} 3 -3 0 2.5", "{x=1} -1 1 - 0")
	f("a ^ b", "a{x=1} - 2 -8 0", "b{x=1} 0 -1 0.5 0", "{x=1} - 0.5 - 1")
	f("a ^ b", "a{x=1} 1 1 - 2", "b{x=1} - 1 1 3", "{x=1} 1 1 - 8")
	f("a ATAN2 b", "a{x=1} 0 1 0 -", "b{x=1} 1 0 -1 1", "{x=1} 0 1.5707963267948966 3.141592653589793 -")
}

func TestComparisons(t *testing.T) {
	f := good(t)
	left, right := "a{x=1} 1 2 3 -", "b{x=1} 2 2 2 2"
	f("a == b", left, right, "a{x=1} - 2 - -")
	f("a != b", left, right, "a{x=1} 1 - 3 -")
	f("a > b", left, right, "a{x=1} - - 3 -")
	f("a < b", left, right, "a{x=1} 1 - - -")
	f("a >= b", left, right, "a{x=1} - 2 3 -")
	f("a <= b", left, right, "a{x=1} 1 2 - -")
	f("a == bool b", left, right, "{x=1} 0 1 0 -")
	f("a != bool b", left, right, "{x=1} 1 0 1 -")
	f("a > bool b", left, right, "{x=1} 0 0 1 -")
	f("a < bool b", left, right, "{x=1} 1 0 0 -")
	f("a >= bool b", left, right, "{x=1} 0 1 1 -")
	f("a <= bool b", left, right, "{x=1} 1 1 0 -")
	// A missing value on the right differs from all others, and is nothing else.
	f("a != b", "a{x=1} 1 -", "b{x=1} - -", "a{x=1} 1 -")
	f("a == bool b", "a{x=1} 1 -", "b{x=1} - -", "{x=1} 0 -")
	f("a > b", "a{x=1} 1 -", "b{x=1} - -", "a{x=1} - -")
	f("(a > b) keep_metric_names", left, right)
	f("(a > bool b) keep_metric_names", left, "a{x=1} 2 2 2 2", "a{x=1} 0 0 1 -")
}

func TestLists(t *testing.T) {
	f := good(t)
	list := "{} 1 1 1 1; {} 2 2 2 2"
	f("a == (1, 2)", "a{x=1} 1 2 3 -", list, "a{x=1} 1 2 - -")
	f("a == union(1, 2)", "a{x=1} 1 2 3 -", list, "a{x=1} 1 2 - -")
	f("(1, 2) == a", list, "a{x=1} 1 2 3 -", "a{x=1} 1 2 - -")
	f("a != (1, 2)", "a{x=1} 1 2 3 -; b{} 5 5 5 5", list, "a{x=1} - - 3 -", "b{} 5 5 5 5")
	f("UNION(1, 2) != a", list, "a{x=1} 1 2 3 -", "a{x=1} - - 3 -")
	f("a == (1, 2)", "a{x=1} 1 2 3 -", "")
	f("a != (1, 2)", "a{x=1} 1 2 3 -", "", "a{x=1} 1 2 3 -")
	f("a != (1, 2)", "", list)
}

func TestScalars(t *testing.T) {
	f := good(t)
	f("a - 1", "a{x=1} 1 2; b{y=2} 3 -", "{} 1 1", "{x=1} 0 1", "{y=2} 2 -")
	f("1 - a", "{} 1 1", "a{x=1} 1 2; b{y=2} 3 -", "{x=1} 0 -1", "{y=2} -2 -")
	f("a > 1", "a{x=1} 1 2", "{} 1 1", "a{x=1} - 2")
	f("(1 - a) keep_metric_names", "{} 1 1", "a{x=1} 1 2", "a{x=1} 0 -1")
	f("time() + step()", "{} 1 1", "{} 2 2", "{} 3 3")
	// A modifier makes it a series as all others.
	f("a + on() 1", "a{x=1} 1 2", "{} 1 1", "{} 2 3")
	f("a + ignoring(x) 1", "a{x=1} 1 2", "{} 1 1", "{} 2 3")
	f("a + ignoring() 1", "a{x=1} 1 2", "{} 1 1")
}

func TestMatching(t *testing.T) {
	f := good(t)
	f("a + b", "a{y=2,x=1} 1; a{x=2} 2", "b{x=1,y=2} 10; b{x=3} 30", "{y=2,x=1} 11")
	f("a + on(x) b", "a{y=2,x=1} 1; a{x=2} 2", "b{x=1} 10; b{x=3} 30", "{x=1} 11")
	f("(a + on(x) b) keep_metric_names", "a{y=2,x=1} 1", "b{x=1} 10", "a{x=1} 11")
	f("(a + on(x, __name__) b) keep_metric_names", "a{y=2,x=1} 1", "b{x=1} 10")
	f("(a + on(x, __name__) b) keep_metric_names", "a{y=2,x=1} 1", "a{x=1} 10", "a{x=1} 11")
	f("(a + b) keep_metric_names", "a{x=1} 1; b{x=1} 2", "b{x=1} 10", "b{x=1} 12")
	f("a + ignoring(y) b", "a{y=2,x=1} 1; a{x=2} 2", "b{x=1} 10", "{x=1} 11")
	f("a > on(x) b", "a{y=2,x=1} 11", "b{x=1} 10", "{x=1} 11")
	f("a > ignoring(y) b", "a{y=2,x=1} 11", "b{x=1} 10", "a{x=1} 11")
	f("a + b", "a{x=1} - -", "b{x=1} 1 2")
	f("a + b", "", "b{x=1} 1 2")
	// What was interrupted is one series.
	f("a + on(x) b", "a{x=1,y=1} 1 2 - -; a{x=1,y=2} - - 3 4", "b{x=1} 1 1 1 1", "{x=1} 2 3 4 5")
	f("a + on(x) b", "a{x=1,y=1} 1 2 2 -; a{x=1,y=2} - 5 3 4", "b{x=1} 1 1 1 1", "{x=1} 2 6 4 5")

	e := bad(t)
	e("a + on(x) b", "a{x=1,y=1} 1 2 3 4; a{x=1,y=2} 5 6 7 -", "b{x=1} 1 1 1 1",
		`duplicate time series on the left side of + on(x): {x="1", y="1"} and {x="1", y="2"}`)
	e("a + on(x) b", "a{x=1,y=1} 1 2 3 4", "b{x=1,z=1} 1 1 1 1; b{x=1,z=2} 1 1 1 1",
		`duplicate time series on the right side of + on(x): {x="1", z="1"} and {x="1", z="2"}`)
	e("a == b", "a{x=1} 1 -; b{x=1} - 2", "b{x=1} 1 1",
		`duplicate time series on the left side of == (): {x="1"} and {x="1"}`)
}

func TestJoins(t *testing.T) {
	f := good(t)
	many := "a{x=1,y=1} 1; a{x=1,y=2} 2"
	f("a * on(x) group_left() b", many, "b{x=1,v=7} 10", "{x=1,y=1} 10", "{x=1,y=2} 20")
	f("a * on(x) group_left(v, x) b", many, "b{x=1,v=7} 10", "{x=1,y=1,v=7} 10", "{x=1,y=2,v=7} 20")
	f("a * on(x) group_left(v, y) b", many, "b{x=1,v=7} 10", "{x=1,v=7} 10", "{x=1,v=7} 20")
	f("a * on(x) group_left(y) b", many, "b{x=1,y=7} 10", "{x=1,y=7} 10", "{x=1,y=7} 20")
	f("a * on(x) group_left(__name__) b", many, "b{x=1,y=7} 10", "b{x=1,y=1} 10", "b{x=1,y=2} 20")
	f(`a * on(x) group_left(v, z) prefix "p_" b`, many, "b{x=1,v=7} 10", "{x=1,y=1,p_v=7} 10", "{x=1,y=2,p_v=7} 20")
	f("a * on(x) group_left(*) b", many, "b{w=8,x=1,v=7} 10", "{x=1,y=1,w=8,v=7} 10", "{x=1,y=2,w=8,v=7} 20")
	f(`a * on(x) group_left(*) prefix "p_" b`, many, "b{x=1,v=7} 10", "{x=1,y=1,p_v=7} 10", "{x=1,y=2,p_v=7} 20")
	f("b / on(x) group_right(v) a", "b{x=1,v=7} 10", many, "{x=1,y=1,v=7} 10", "{x=1,y=2,v=7} 5")
	f("b > on(x) group_right(v) a", "b{x=1,v=7} 10", many, "a{x=1,y=1,v=7} 10", "a{x=1,y=2,v=7} 10")
	f("(a * on(x) group_left() b) keep_metric_names", many, "a{x=1} 10", "a{x=1,y=1} 10", "a{x=1,y=2} 20")
	// Several on the side of one are told apart by the labels taken, which are
	// sorted then.
	f("a * on(x) group_left(v) b", "a{y=1,x=1} 1", "b{x=1,v=7} 10; b{x=1,v=8} 20", "{v=7,x=1,y=1} 10", "{v=8,x=1,y=1} 20")
	f("a * on(x) group_left() b", "a{y=1,x=1} 1 1 1", "b{x=1,v=7} 10 - -; b{x=1,v=8} - 20 30", "{x=1,y=1} 10 20 30")

	e := bad(t)
	e("a * on(x) group_left() b", many, "b{x=1,v=7} 10; b{x=1,v=8} 20",
		"duplicate time series on the right side of `* on(x) group_left()`: {v=\"7\", x=\"1\"} and {v=\"8\", x=\"1\"}")
	e("b * on(x) group_right(w) a", "b{x=1,v=7} 10; b{x=1,v=8} 20", many,
		"duplicate time series on the left side of `* on(x) group_right(w)`: {v=\"7\", x=\"1\"} and {v=\"8\", x=\"1\"}")
}

func TestFill(t *testing.T) {
	f := good(t)
	left, right := "a{x=1} 1 - - 4; a{x=2} 2 2 2 2", "b{x=1} 10 20 - -; b{x=3} 3 3 3 -"
	f("a + fill(100) b", left, right, "{x=1} 11 120 - 104", "{x=2} 102 102 102 102", "{x=3} 103 103 103 -")
	f("a + fill_left(100) b", left, right, "{x=1} 11 120 - -", "{x=3} 103 103 103 -")
	f("a + fill_right(-1) b", left, right, "{x=1} 11 - - 3", "{x=2} 1 1 1 1")
	f("a - fill_left(1) fill_right(2) b", left, right, "{x=1} -9 -19 - 2", "{x=2} 0 0 0 0", "{x=3} -2 -2 -2 -")
	f("a > fill(3) b", left, right, "a{x=1} - - - 4", "a{x=2} - - - -", "{x=3} - - - -")
	f("a + fill(5) b", "", "b{x=1} 1", "{x=1} 6")
	f("a + fill_left(5) b", "a{x=1} 1", "")
	f("a + fill_right(5) b", "", "b{x=1} 1")
	f("a + fill_right(5) b", "a{x=1} 1", "", "{x=1} 6")
	f("a + fill(5) b", "", "")
	f("a + fill(5) 1", "a{x=1} 1 -", "{} 1 1", "{x=1} 2 6")
	f("a + on(x) fill(5) b", "a{x=1,y=2} 1", "b{x=2,z=1} 1", "{x=1} 6", "{x=2} 6")
	f("(a + on(x) fill(5) b) keep_metric_names", "a{x=1,y=2} 1", "b{x=2,z=1} 1", "a{x=1} 6", "{x=2} 6")
	f("(a + fill(5) b) keep_metric_names", "a{x=1} 1", "b{x=1} 1", "a{x=1} 6", "b{x=1} 6")
	f("a + on(x) group_left(z) fill(5) b", "a{x=1,y=2} 1", "b{x=2,z=1} 1", "{x=1,y=2} 6", "{x=2,z=1} 6")
}

func TestSets(t *testing.T) {
	f := good(t)
	left, right := "a{x=1,y=1} 1 - 3; a{x=2} - 5 6; a{x=3} 7 7 7", "b{y=1,x=1} - 9 9; b{x=2} 9 - -; b{x=4} 4 - -"
	f("a and b", left, right, "a{x=1,y=1} - - 3")
	f("a AND on(x) b", left, "b{x=1,z=1} 9 - -; b{x=1,z=2} - - 9", "a{x=1,y=1} 1 - 3")
	f("a and on() 1", "a{x=1} 1 2 3", "{} - 1 1", "a{x=1} - 2 3")
	f("a and 1", "a{x=1} 1 2 3", "{} 1 1 1")
	f("a unless b", left, right, "a{x=1,y=1} 1 - -", "a{x=2} - 5 6", "a{x=3} 7 7 7")
	f("a unless on(x) b", "a{x=1} 1 2", "b{x=1} 3 3")
	f("a unless 1", "a{x=1} 1 2 3", "{} - 1 1", "a{x=1} 1 2 3")
	f("a if b", left, right, "a{x=1,y=1} - - 3")
	f("a if 1", "a{x=1} 1 2 3; a{x=2} 4 - -", "{} - 1 1", "a{x=1} - 2 3")
	f("a if b", "a{x=1} 1 2 3", "b{x=2} 1 1 1")
	f("a ifnot b", left, right, "a{x=1,y=1} 1 - -", "a{x=2} - 5 6", "a{x=3} 7 7 7")
	f("a ifnot 1", "a{x=1} 1 2 3", "{} - 1 1", "a{x=1} 1 - -")
	f("a ifnot 1", "a{x=1} 1 2 3", "{} 1 1 1")
	f("(a and b) keep_metric_names", "a{x=1} 1; b{x=1} 2", "b{x=1} 3", "b{x=1} 2")
}

func TestDefault(t *testing.T) {
	f := good(t)
	f("a default b", "a{x=1} 1 - 3; a{x=2} - 5 -", "b{x=1} 7 8 9; b{x=3} 1 1 1", "a{x=1} 1 8 3", "a{x=2} - 5 -")
	f("a default 0", "a{x=1} 1 - 3; a{x=2} - 5 -", "{} 0 0 0", "a{x=1} 1 0 3", "a{x=2} 0 5 0")
	f("a default b", "", "b{x=1} 7; b{x=3} 1", "b{x=1} 7", "b{x=3} 1")
	f("a default b", "a{x=1} - -", "b{x=1} 7 -", "a{x=1} 7 -")
	f("a default on() b", "a{x=1} - - -", "b{x=1} 7 - -; b{x=2} 8 8 -", "a{x=1} 7 8 -")
}

func TestOr(t *testing.T) {
	f := good(t)
	f("a or b", "a{x=2} 1 - 3; a{x=1} - 5 -; a{x=9} - - -", "c{x=3} 1 1 1; b{x=2} 7 8 9", "a{x=1} - 5 -", "a{x=2} 1 - 3", "b{x=2} - 8 -", "c{x=3} 1 1 1")
	// Series of the same labels become one.
	f("a or b", "a{y=1,x=2} 1 - 3", "a{x=2,y=1} 7 8 9", "a{x=2,y=1} 1 8 3")
	f("a or on() b", "a{x=1} 1 - -", "b{x=1} 7 8 9; b{x=2} 4 5 6", "a{x=1} 1 - -", "b{x=1} - 8 9", "b{x=2} - 5 6")
	f("a or on() vector(0)", "a{x=1} 1 - -", "{} 0 0 0", "a{x=1} 1 - -", "{} - 0 0")
	f("a or on() vector(0)", "", "{} 0 0 0", "{} 0 0 0")
	f("time() or step()", "{} 1 - 3", "{} 5 5 5", "{} 1 5 3")
	f("a or 2", "a{x=1} 1 - 3", "{} 5 5 5", "a{x=1} 1 - 3", "{} 5 5 5")
	// The left may have nothing to say and be there all the same.
	f("a or b", "a{x=1} - -", "b{x=1} 1 -", "b{x=1} 1 -")
}

func TestKnown(t *testing.T) {
	for _, op := range strings.Fields("+ - * / % ^ atan2 == != > < >= <= and or unless if ifnot default AND Default") {
		require.True(t, binop.Known(op), op)
	}
	for _, op := range []string{"", "=", "=~", "sum", "nor"} {
		require.False(t, binop.Known(op), op)
	}
	_, err := binop.Eval(&binop.Call{Expr: &mql.BinaryOpExpr{Op: "nor"}})
	require.EqualError(t, err, `unknown binary op "nor"`)
}

// Copies of the side of many are asked for.
func TestHold(t *testing.T) {
	held := 0
	full := errors.New("no room")
	c := func() *binop.Call {
		return &binop.Call{
			Expr: parse(t, "a * on(x) group_left(v) b"), Left: read("a{x=1,y=1} 1; a{x=1,y=2} 1"),
			Right: read("b{x=1,v=7} 10; b{x=1,v=8} 20"),
			Hold: func(series int) error {
				if held += series; held > 6 {
					return full
				}
				return nil
			},
		}
	}
	got, err := binop.Eval(c())
	require.NoError(t, err)
	require.Len(t, got, 4)
	require.Equal(t, 4, held)
	_, err = binop.Eval(c())
	require.ErrorIs(t, err, full)
}
