package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// Point is a sample as the API prints it: the time in seconds as it was spelled,
// and the value as text. A histogram is its JSON.
type Point struct{ Time, Value string }

// Series is one series of a result.
type Series struct {
	Labels labels.Labels
	Points []Point
}

// Result is the answer to a query.
type Result struct {
	Type   string // vector, matrix, scalar or string
	Series []Series
	Envelope
}

// Query evaluates an expression at an instant, spelled as the API takes it.
func (c Client) Query(t testing.TB, expr, at string, args ...string) Result {
	t.Helper()
	resp := c.Get(t, "/api/v1/query", append([]string{"query", expr, "time", at}, args...)...)
	require.Equal(t, http.StatusOK, resp.Status, "query %s: %s", expr, clip(resp.Body))
	return ParseResult(t, resp)
}

// QueryRange evaluates an expression at start, start+step, ... end.
func (c Client) QueryRange(t testing.TB, expr, start, end, step string, args ...string) Result {
	t.Helper()
	resp := c.PostForm(t, "/api/v1/query_range", append([]string{"query", expr, "start", start, "end", end, "step", step}, args...)...)
	require.Equal(t, http.StatusOK, resp.Status, "query %s: %s", expr, clip(resp.Body))
	return ParseResult(t, resp)
}

// ParseResult decodes the answer to a query.
func ParseResult(t testing.TB, resp Response) Result {
	t.Helper()
	r := Result{Envelope: resp.Envelope(t)}
	var data struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	}
	require.NoError(t, json.Unmarshal(r.Data, &data))
	r.Type = data.ResultType
	switch r.Type {
	case "scalar", "string":
		r.Series = []Series{{Points: []Point{parsePoint(t, data.Result)}}}
		return r
	}
	var series []struct {
		Metric     map[string]string `json:"metric"`
		Value      json.RawMessage   `json:"value"`
		Histogram  json.RawMessage   `json:"histogram"`
		Values     []json.RawMessage `json:"values"`
		Histograms []json.RawMessage `json:"histograms"`
	}
	require.NoError(t, json.Unmarshal(data.Result, &series))
	for _, s := range series {
		out := Series{Labels: labels.FromMap(s.Metric)}
		for _, raw := range slices.Concat([]json.RawMessage{s.Value, s.Histogram}, s.Values, s.Histograms) {
			if raw != nil {
				out.Points = append(out.Points, parsePoint(t, raw))
			}
		}
		r.Series = append(r.Series, out)
	}
	return r
}

func parsePoint(t testing.TB, raw json.RawMessage) Point {
	t.Helper()
	var pair []json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &pair), "point %s", raw)
	require.Len(t, pair, 2)
	var text string
	if json.Unmarshal(pair[1], &text) != nil {
		text = string(pair[1])
	}
	return Point{Time: string(pair[0]), Value: text}
}

// Values prints a result as lines of "labels value value ...", sorted unless
// the result is ordered by its query. A scalar or string is its value alone.
func (r Result) Values() []string {
	lines := r.Ordered()
	slices.Sort(lines)
	return lines
}

// Ordered is Values in the order of the answer.
func (r Result) Ordered() []string {
	lines := []string{}
	for _, s := range r.Series {
		var line strings.Builder
		if r.Type == "vector" || r.Type == "matrix" {
			line.WriteString(s.Labels.String())
		}
		for _, p := range s.Points {
			line.WriteString(" " + p.Value)
		}
		lines = append(lines, strings.TrimSpace(line.String()))
	}
	return lines
}

// Timed prints a result as lines of "labels value@time ...", the times in
// seconds relative to base, sorted.
func (r Result) Timed(t testing.TB, base float64) []string {
	lines := []string{}
	for _, s := range r.Series {
		var line strings.Builder
		if r.Type == "vector" || r.Type == "matrix" {
			line.WriteString(s.Labels.String())
		}
		for _, p := range s.Points {
			at, err := strconv.ParseFloat(p.Time, 64)
			require.NoError(t, err)
			// Times carry milliseconds; the subtraction must not add digits.
			ms := int64(at*1000+0.5) - int64(base*1000+0.5)
			fmt.Fprintf(&line, " %s@%s", p.Value, strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64))
		}
		lines = append(lines, strings.TrimSpace(line.String()))
	}
	slices.Sort(lines)
	return lines
}

// Strings asks for a list of strings, such as label names.
func (c Client) Strings(t testing.TB, path string, args ...string) []string {
	t.Helper()
	var out []string
	c.Get(t, path, args...).Data(t, &out)
	return out
}

// LabelSets asks /api/v1/series and returns the label sets as text, sorted.
func (c Client) LabelSets(t testing.TB, args ...string) []string {
	t.Helper()
	var sets []map[string]string
	c.Get(t, "/api/v1/series", args...).Data(t, &sets)
	out := []string{}
	for _, s := range sets {
		out = append(out, labels.FromMap(s).String())
	}
	slices.Sort(out)
	return out
}
