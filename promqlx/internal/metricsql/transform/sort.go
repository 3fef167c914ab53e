package transform

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// sortByValue makes the function that sorts by the last values, by those before where
// they are equal, and so on; series without a value come first. Sorting is not stable;
// it is the one of VictoriaMetrics, whose equal series come in this order too.
func sortByValue(desc bool) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(1); err != nil {
			return nil, err
		}
		all := c.Args[0]
		sort.Slice(all, func(i, j int) bool { return lessByValue(all[i].Values, all[j].Values, desc) })
		return all, nil
	}
}

func lessByValue(a, b []float64, desc bool) bool {
	for i := len(a) - 1; i >= 0; i-- {
		x, y := a[i], b[i]
		switch {
		case math.IsNaN(x) && math.IsNaN(y), x == y:
		case math.IsNaN(x):
			return true
		case math.IsNaN(y):
			return false
		case desc:
			return y < x
		default:
			return x < y
		}
	}
	return false
}

// sortByLabel makes the function that sorts by values of labels as texts.
func sortByLabel(desc bool) function {
	less := func(a, b string) bool { return a < b }
	return func(c *call) ([]*series.Series, error) {
		return c.sortByLabels(less, desc, func(int) int { return 1 }) // errors always blame the second
	}
}

// sortByNumber makes the function that sorts by values of labels, numbers in them as
// numbers.
func sortByNumber(desc bool) function {
	return func(c *call) ([]*series.Series, error) {
		return c.sortByLabels(lessNumeric, desc, func(i int) int { return i })
	}
}

func (c *call) sortByLabels(less func(a, b string) bool, desc bool, blame func(i int) int) ([]*series.Series, error) {
	if len(c.Args) < 2 {
		return nil, fmt.Errorf("expecting at least 2 args; got %d args", len(c.Args))
	}
	var keys []string
	for i := 1; i < len(c.Args); i++ {
		key, err := series.Text(c.Args[i], blame(i))
		if err != nil {
			return nil, fmt.Errorf("cannot parse label #%d for sorting: %w", i, err)
		}
		keys = append(keys, key)
	}
	all := c.Args[0]
	sort.SliceStable(all, func(i, j int) bool {
		for _, key := range keys {
			a, b := all[i].Name.Get(key), all[j].Name.Get(key)
			if a == b {
				continue
			}
			if desc {
				a, b = b, a
			}
			return less(a, b)
		}
		return false
	})
	return all, nil
}

// lessNumeric compares texts that numbers and other things take turns in, numbers
// before other things.
func lessNumeric(a, b string) bool {
	for b != "" {
		if a == "" {
			return true
		}
		n, m := numberLen(a), numberLen(b)
		if n > 0 || m > 0 {
			if n == 0 || m == 0 {
				return m == 0
			}
			// digits with a sign and a point parse; too many of them are infinite
			x, _ := strconv.ParseFloat(a[:n], 64)
			y, _ := strconv.ParseFloat(b[:m], 64)
			if x != y {
				return x < y
			}
		}
		a, b = a[n:], b[m:]
		n, m = otherLen(a), otherLen(b)
		if a[:n] != b[:m] {
			return a[:n] < b[:m]
		}
		a, b = a[n:], b[m:]
	}
	return false
}

// numberLen returns the length of the number at the start of s; 0 if there is none.
func numberLen(s string) int {
	i := 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		i++
	}
	digits, point := false, false
	for ; i < len(s); i++ {
		switch {
		case isDigit(s[i]):
			digits = true
		case s[i] == '.' && !point:
			point = true
		case digits:
			return i
		default:
			return 0
		}
	}
	if !digits {
		return 0
	}
	return i
}

// otherLen returns how far it is to the first digit.
func otherLen(s string) int {
	i := 0
	for i < len(s) && !isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(ch byte) bool { return ch >= '0' && ch <= '9' }
