package importer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxCSVColumns bounds the position of a column.
const maxCSVColumns = 1 << 16

// csvFormat says what the columns of a table are. It is read only.
type csvFormat struct {
	columns []csvColumn // by position; columns that are nothing are left out
	metrics int         // columns that are metrics
}

// csvColumn is a column of a table: a value of the metric name, a value of the
// label name, or the time, which has no name.
type csvColumn struct {
	position int // from 1
	kind     csvKind
	name     string
	millis   func(string) (int64, error) // of a time
}

type csvKind uint8

const (
	csvMetric csvKind = iota
	csvLabel
	csvTime
)

// width returns how many columns a line needs.
func (f *csvFormat) width() int { return f.columns[len(f.columns)-1].position }

// parseCSVFormat reads the argument format: POSITION:KIND:WHAT, separated by
// commas, in any order. Its memory grows with the text, whatever the positions.
func parseCSVFormat(text string) (*csvFormat, error) {
	f, times := &csvFormat{}, 0
	for item := range strings.SplitSeq(text, ",") {
		c, err := parseCSVColumn(item)
		if err != nil {
			return nil, badRequest("argument format: column %q: %w", item, err)
		}
		switch c.kind {
		case csvMetric:
			f.metrics++
		case csvTime:
			times++
		}
		f.columns = append(f.columns, c)
	}
	slices.SortStableFunc(f.columns, func(a, b csvColumn) int { return a.position - b.position })
	for i := 1; i < len(f.columns); i++ {
		if f.columns[i].position == f.columns[i-1].position {
			return nil, badRequest("argument format: column %d comes twice", f.columns[i].position)
		}
	}
	switch {
	case f.metrics == 0:
		return nil, badRequest("argument format: no column is a metric, got %q", text)
	case times > 1:
		return nil, badRequest("argument format: %d columns are the time, want at most one", times)
	}
	return f, nil
}

func parseCSVColumn(item string) (c csvColumn, err error) {
	parts := strings.SplitN(item, ":", 3)
	if len(parts) != 3 {
		return c, fmt.Errorf("want POSITION:metric:NAME, POSITION:label:NAME or POSITION:time:FORMAT")
	}
	c.position, err = strconv.Atoi(parts[0])
	if err != nil || c.position < 1 || c.position > maxCSVColumns {
		return c, fmt.Errorf("the position must be a number from 1 to %d, got %q", maxCSVColumns, parts[0])
	}
	switch parts[1] {
	case "metric":
		c.kind, c.name = csvMetric, parts[2]
	case "label":
		c.kind, c.name = csvLabel, parts[2]
	case "time":
		c.kind = csvTime
		c.millis, err = csvTimeFormat(parts[2])
		return c, err
	default:
		return c, fmt.Errorf("want metric, label or time, got %q", parts[1])
	}
	if c.name == "" {
		return c, fmt.Errorf("the %s has no name", parts[1])
	}
	return c, nil
}

// csvTimeFormat returns what reads times of the format as milliseconds. Parts of
// a millisecond are cut off.
func csvTimeFormat(format string) (func(string) (int64, error), error) {
	if layout, ok := strings.CutPrefix(format, "custom:"); ok {
		return csvLayout(layout), nil
	}
	switch format {
	case "unix_s":
		return func(s string) (int64, error) {
			n, err := csvInteger(s)
			if err == nil && (n > math.MaxInt64/1000 || n < math.MinInt64/1000) {
				return 0, fmt.Errorf("time %q is out of range", s)
			}
			return n * 1000, err
		}, nil
	case "unix_ms":
		return csvInteger, nil
	case "unix_ns":
		return func(s string) (int64, error) {
			n, err := csvInteger(s)
			return n / 1e6, err
		}, nil
	case "rfc3339":
		return csvLayout(time.RFC3339), nil
	}
	return nil, fmt.Errorf("want the time as unix_s, unix_ms, unix_ns, rfc3339 or custom:LAYOUT, got %q", format)
}

func csvInteger(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("time %q is not a whole number", s)
	}
	return n, nil
}

// csvLayout reads times of a layout of package time, in UTC unless they say
// otherwise.
func csvLayout(layout string) func(string) (int64, error) {
	return func(s string) (int64, error) {
		t, err := time.Parse(layout, s)
		if err != nil {
			return 0, fmt.Errorf("time %q is not of the form %q", s, layout)
		}
		return t.UnixMilli(), nil
	}
}
