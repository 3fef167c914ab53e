package funcs

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// The order of a vector means something at an instant only: over a range the
// sorting functions but warn.

// sortAscending sorts by value, NaN at the end. Histograms fall out. (funcSort
// of Prometheus' promql/functions.go; sort.Sort is not stable, so the way of
// sorting is part of the answer.)
func sortAscending(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	return sortByValue(in, args[0], func(a, b float64) bool { return a > b }), nil
}

func sortDescending(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	return sortByValue(in, args[0], func(a, b float64) bool { return a < b }), nil
}

// sortByValue sorts by the reverse of less.
func sortByValue(in *Input, rows []*row.Row, less func(a, b float64) bool) []*row.Row {
	out := rows[:0]
	for _, r := range rows {
		loseHistograms(r)
		if r.Has.Any() {
			out = append(out, r)
		}
	}
	if !sortable(in) {
		return out
	}
	sort.Sort(sort.Reverse(&byValue{out, less}))
	return out
}

// sortable tells whether there is an order; if not, it warns.
func sortable(in *Input) bool {
	if in.Env.Instant() {
		return true
	}
	in.Env.Annos.Add(annotations.NewSortInRangeQueryWarning(in.Pos))
	return false
}

// byValue orders rows of an instant: NaN before all, even before itself.
// (vectorByValueHeap and vectorByReverseValueHeap of Prometheus'
// promql/functions.go.)
type byValue struct {
	rows []*row.Row
	less func(a, b float64) bool
}

func (s *byValue) Len() int      { return len(s.rows) }
func (s *byValue) Swap(i, j int) { s.rows[i], s.rows[j] = s.rows[j], s.rows[i] }
func (s *byValue) Less(i, j int) bool {
	a := s.rows[i].F[0]
	return math.IsNaN(a) || s.less(a, s.rows[j].F[0])
}

// sortByLabel sorts by the values of labels in natural order, and by all labels
// where these are equal. (funcSortByLabel of Prometheus' promql/functions.go.)
func sortByLabel(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	return sortByLabels(in, args[0], 1), nil
}

func sortByLabelDescending(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	return sortByLabels(in, args[0], -1), nil
}

func sortByLabels(in *Input, rows []*row.Row, sign int) []*row.Row {
	if !sortable(in) {
		return rows
	}
	ended, calls := false, 0
	slices.SortFunc(rows, func(a, b *row.Row) int {
		if calls++; ended {
			return 0
		}
		if in.Env.Alive(calls) != nil {
			ended = true
		}
		for _, name := range in.Texts[1:] {
			va, vb := a.Labels.Get(name), b.Labels.Get(name)
			if va == vb {
				continue
			}
			if naturallyLess(va, vb) {
				return -sign
			}
			return sign
		}
		return sign * labels.Compare(a.Labels, b.Labels)
	})
	return rows
}

// naturallyLess compares strings by their runs of digits and of other bytes:
// runs of digits by number if they fit an int, others as they are. (Compare of
// github.com/facette/natsort, its oddities included: it is not a strict order
// where runs differ in leading zeros.)
func naturallyLess(a, b string) bool {
	for a != "" {
		if b == "" {
			return false
		}
		ra, rb := a[:runLength(a)], b[:runLength(b)]
		a, b = a[len(ra):], b[len(rb):]
		na, erra := strconv.Atoi(ra)
		nb, errb := strconv.Atoi(rb)
		numbers := erra == nil && errb == nil
		switch {
		case numbers && na != nb:
			return na < nb
		case !numbers && ra != rb:
			return ra < rb
		case a == "":
			return true
		case b == "":
			return false
		}
	}
	return false
}

// runLength returns how long the run of digits, or of other bytes, is that s
// begins with. s is not empty.
func runLength(s string) int {
	digits := isDigit(s[0])
	for i := 1; i < len(s); i++ {
		if isDigit(s[i]) != digits {
			return i
		}
	}
	return len(s)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
