package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// row is one line of a table.
type row struct {
	key    string
	title  string
	digits int  // after the point
	bar    *bar // nil: only told
}

// bar is what a figure of varve has to keep to.
type bar struct {
	limit float64 // the most it may be
	rival string  // of what this server does; "": an absolute figure
	least bool    // limit is the least it may be
}

func atMost(limit float64) *bar { return &bar{limit: limit} }

func atLeast(limit float64) *bar { return &bar{limit: limit, least: true} }

func atMostOf(rival string, limit float64) *bar { return &bar{limit: limit, rival: rival} }

// table is the figures of servers side by side, varve's first.
type table struct {
	title   string
	runs    int
	servers []column
}

type column struct {
	name    string
	figures figures
}

// print writes the table as text of fixed form. A figure that a server does not
// have is a dash.
func (t table) print(out *strings.Builder, rows []row) {
	cells := [][]string{{t.title}}
	for i, s := range t.servers {
		cells[0] = append(cells[0], s.name)
		if i > 0 {
			cells[0] = append(cells[0], "varve/"+s.name)
		}
	}
	cells[0] = append(cells[0], "bar", "")
	for _, r := range rows {
		line := []string{r.title}
		own, ok := t.servers[0].figures[r.key]
		for i, s := range t.servers {
			v, known := s.figures[r.key]
			line = append(line, dashUnless(known, strconv.FormatFloat(v, 'f', r.digits, 64)))
			if i > 0 {
				line = append(line, dashUnless(ok && known && v != 0, strconv.FormatFloat(own/v, 'f', 3, 64)))
			}
		}
		cells = append(cells, append(line, t.judge(r)...))
	}
	if t.runs > 1 {
		fmt.Fprintf(out, "medians of %d runs\n", t.runs)
	}
	writeAligned(out, cells)
}

func dashUnless(known bool, text string) string {
	if !known {
		return "-"
	}
	return text
}

// judge returns the bar of a row as text, and whether it holds.
func (t table) judge(r row) []string {
	if r.bar == nil {
		return []string{"", ""}
	}
	sign, digits := "<= ", r.digits
	if r.bar.least {
		sign = ">= "
	}
	if r.bar.limit != math.Trunc(r.bar.limit) {
		digits = -1
	}
	text := sign + strconv.FormatFloat(r.bar.limit, 'f', digits, 64)
	limit := r.bar.limit
	if r.bar.rival != "" {
		text = "<= " + strconv.FormatFloat(r.bar.limit, 'f', 3, 64) + " of " + r.bar.rival
		i := slices.IndexFunc(t.servers, func(c column) bool { return c.name == r.bar.rival })
		if i < 0 {
			return []string{text, ""}
		}
		limit *= t.servers[i].figures[r.key]
	}
	own, ok := t.servers[0].figures[r.key]
	switch {
	case !ok:
		return []string{text, ""}
	case own <= limit && !r.bar.least, own >= limit && r.bar.least:
		return []string{text, "holds"}
	}
	return []string{text, "MISSED"}
}

// writeAligned writes cells in columns: the first and the last two to the left,
// figures to the right.
func writeAligned(out *strings.Builder, cells [][]string) {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], len(c))
		}
	}
	for _, line := range cells {
		var text strings.Builder
		for i, c := range line {
			if i > 0 {
				text.WriteString("  ")
			}
			if i == 0 || i >= len(line)-2 {
				fmt.Fprintf(&text, "%-*s", widths[i], c)
			} else {
				fmt.Fprintf(&text, "%*s", widths[i], c)
			}
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

// medians returns the median of each figure that all runs have.
func medians(runs []figures) figures {
	out := figures{}
	for key := range runs[0] {
		var values []float64
		for _, f := range runs {
			if v, ok := f[key]; ok {
				values = append(values, v)
			}
		}
		if len(values) != len(runs) {
			continue
		}
		slices.Sort(values)
		n := len(values)
		out[key] = (values[(n-1)/2] + values[n/2]) / 2
	}
	return out
}
