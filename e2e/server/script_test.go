package server

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// A script is a text of cases. T is (now - 2 h) floored to the hour; offsets
// are seconds from it, START in an expression is T itself.
//
//	# ID: what is right              begins a case
//	load SERIES offset:value ...     lines that follow each other are one request of remote write 1.0, unless they repeat a series
//	ramp SERIES first..last/step     value i at offset first + i*step
//	kill | flush | merge
//	Q EXPR @offset                   /api/v1/query, @=seconds for an absolute time
//	O EXPR @offset                   the same, in the order of the answer
//	T EXPR @offset                   the same, with the times of the samples
//	R EXPR [start..end/step]         /api/v1/query_range, with times
//	S SELECTOR                       /api/v1/series
//	-> ...                           a line of the answer, "none", "error STATUS TYPE TEXT",
//	                                 "info TEXT" or "warning TEXT"
type script struct {
	varve *harness.Varve
	base  int64 // T in seconds
	cases []scriptCase
}

type scriptCase struct {
	name  string
	steps []step
}

type step struct {
	line     int
	verb     string
	rest     string
	expected []string
}

// readScript parses a script.
func readScript(t *testing.T, path string) []scriptCase {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var cases []scriptCase
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		verb, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case verb == "#":
			cases = append(cases, scriptCase{name: rest})
		case verb == "->":
			steps := cases[len(cases)-1].steps
			last := &steps[len(steps)-1]
			last.expected = append(last.expected, rest)
		default:
			c := &cases[len(cases)-1]
			c.steps = append(c.steps, step{line: n, verb: verb, rest: rest})
		}
	}
	require.NoError(t, lines.Err())
	return cases
}

// scriptTime returns T in seconds.
func scriptTime() int64 { return time.Now().Add(-2*time.Hour).Unix() / 3600 * 3600 }

// run plays every case. With queriesOnly nothing is written again: only what is
// asked after the last change is asked.
func (s *script) run(t *testing.T, queriesOnly bool) {
	for _, c := range s.cases {
		t.Run(c.name, func(t *testing.T) {
			steps, queries := c.steps, 0
			if queriesOnly {
				steps = afterChanges(steps)
			}
			for len(steps) > 0 {
				n := s.change(t, steps)
				if n == 0 {
					s.ask(t, steps[0])
					n = 1
					queries++
				}
				steps = steps[n:]
			}
			require.NotZero(t, queries)
		})
	}
}

// afterChanges returns the steps behind the last one that writes.
func afterChanges(steps []step) []step {
	for i, st := range slices.Backward(steps) {
		if st.verb == "load" || st.verb == "ramp" {
			return slices.DeleteFunc(slices.Clone(steps[i+1:]), func(st step) bool { return st.verb == "kill" })
		}
	}
	return steps
}

// change plays the first steps unless they are a question, and returns how many
// it played. Load lines that follow each other are one request.
func (s *script) change(t *testing.T, steps []step) int {
	switch steps[0].verb {
	case "load", "ramp":
		var series []prompb.TimeSeries
		for n := 0; n < len(steps) && steps[n].verb == steps[0].verb; n++ {
			series = append(series, s.series(t, steps[n]))
			if n > 0 && reflect.DeepEqual(series[n].Labels, series[n-1].Labels) {
				series = series[:n] // the same series again: a request of its own
				break
			}
		}
		s.varve.WriteV1(t, series...).Require(t, http.StatusNoContent)
		return len(series)
	case "kill":
		s.varve.Kill()
		s.varve.Restart(t)
	case "flush":
		s.varve.Flush(t)
	case "merge":
		s.varve.Flush(t)
		s.varve.Merge(t)
	default:
		return 0
	}
	return 1
}

func (s *script) series(t *testing.T, st step) prompb.TimeSeries {
	metric, points := cutMetric(st.rest)
	ls, err := parser.NewParser(parser.Options{}).ParseMetric(metric)
	require.NoError(t, err, "line %d", st.line)
	ts := prompb.TimeSeries{Labels: harness.PBLabels(ls)}
	if st.verb == "ramp" {
		first, last, width := parseRange(t, points)
		for i := 0; first+float64(i)*width <= last; i++ {
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: s.ms(first + float64(i)*width), Value: float64(i)})
		}
		return ts
	}
	for _, p := range strings.Fields(points) {
		at, text, ok := strings.Cut(p, ":")
		require.True(t, ok, "line %d: point %q", st.line, p)
		offset, err := strconv.ParseFloat(at, 64)
		require.NoError(t, err, "line %d", st.line)
		ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: s.ms(offset), Value: parseValue(t, text)})
	}
	return ts
}

// cutMetric cuts a line behind its metric, whose braces may hold spaces.
func cutMetric(line string) (metric, rest string) {
	at := strings.IndexByte(line, ' ')
	if brace := strings.LastIndexByte(line, '}'); brace > at {
		at = brace + 1
	}
	return line[:at], strings.TrimSpace(line[at:])
}

func parseValue(t *testing.T, s string) float64 {
	switch s {
	case "stale":
		return math.Float64frombits(value.StaleNaN)
	case "NaN":
		return math.Float64frombits(value.NormalNaN)
	}
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}

// parseRange reads "start..end/step".
func parseRange(t *testing.T, s string) (start, end, step float64) {
	var err [3]error
	from, rest, _ := strings.Cut(s, "..")
	to, width, _ := strings.Cut(rest, "/")
	start, err[0] = strconv.ParseFloat(from, 64)
	end, err[1] = strconv.ParseFloat(to, 64)
	step, err[2] = strconv.ParseFloat(width, 64)
	require.Equal(t, [3]error{}, err, "range %q", s)
	return start, end, step
}

func (s *script) ms(offset float64) int64 { return s.base*1000 + int64(math.Round(offset*1000)) }

func (s *script) at(offset float64) string {
	return strconv.FormatFloat(float64(s.ms(offset))/1000, 'f', -1, 64)
}

// ask sends a question and compares the answer.
func (s *script) ask(t *testing.T, st step) {
	t.Helper()
	what := fmt.Sprintf("line %d: %s %s", st.line, st.verb, st.rest)
	if st.verb == "S" {
		require.Equal(t, s.expand(t, st.expected), s.varve.LabelSets(t, "match[]", st.rest), what)
		return
	}
	var resp harness.Response
	if st.verb == "R" {
		at := strings.LastIndexByte(st.rest, '[')
		require.Positive(t, at, what)
		start, end, step := parseRange(t, strings.TrimSuffix(st.rest[at+1:], "]"))
		resp = s.varve.PostForm(t, "/api/v1/query_range", "query", s.expr(st.rest[:at]),
			"start", s.at(start), "end", s.at(end), "step", strconv.FormatFloat(step, 'f', -1, 64))
	} else {
		at := strings.LastIndexByte(st.rest, '@')
		require.Positive(t, at, what)
		offset, absolute := strings.CutPrefix(st.rest[at+1:], "=")
		moment := offset
		if !absolute {
			seconds, err := strconv.ParseFloat(offset, 64)
			require.NoError(t, err, what)
			moment = s.at(seconds)
		}
		resp = s.varve.Get(t, "/api/v1/query", "query", s.expr(st.rest[:at]), "time", moment)
	}
	s.compare(t, st, resp, what)
}

// startTerm is START or START+600 in an expression.
var startTerm = regexp.MustCompile(`START(\+\d+)?`)

func (s *script) expr(text string) string {
	return strings.TrimSpace(startTerm.ReplaceAllStringFunc(text, func(term string) string {
		offset, _ := strconv.ParseInt(strings.TrimPrefix(term, "START+"), 10, 64)
		return strconv.FormatInt(s.base+offset, 10)
	}))
}

func (s *script) compare(t *testing.T, st step, resp harness.Response, what string) {
	t.Helper()
	if want, ok := strings.CutPrefix(strings.Join(st.expected, "\n"), "error "); ok {
		f := strings.SplitN(want, " ", 3)
		require.Equal(t, f[0], strconv.Itoa(resp.Status), "%s: %s", what, resp)
		e := resp.Envelope(t)
		require.Equal(t, []string{"error", f[1]}, []string{e.Status, e.ErrorType}, what)
		require.Contains(t, e.Error, f[2], what)
		return
	}
	require.Equal(t, http.StatusOK, resp.Status, "%s: %s", what, resp)
	r := harness.ParseResult(t, resp)
	var lines, notes []string
	for _, line := range st.expected {
		if strings.HasPrefix(line, "info ") || strings.HasPrefix(line, "warning ") {
			notes = append(notes, line)
		} else {
			lines = append(lines, line)
		}
	}
	got := r.Values()
	switch st.verb {
	case "O":
		got = r.Ordered()
	case "T", "R":
		got = r.Timed(t, float64(s.base))
	}
	require.Equal(t, s.expand(t, lines), got, what)
	requireNotes(t, notes, r, what)
}

// requireNotes requires one info or warning for each note, and no other.
func requireNotes(t *testing.T, notes []string, r harness.Result, what string) {
	t.Helper()
	var got []string
	for _, text := range r.Infos {
		got = append(got, "info "+text)
	}
	for _, text := range r.Warnings {
		got = append(got, "warning "+text)
	}
	require.Len(t, got, len(notes), "%s: notes %q", what, got)
	for _, note := range notes {
		kind, text, _ := strings.Cut(note, " ")
		require.True(t, slices.ContainsFunc(got, func(s string) bool {
			return strings.HasPrefix(s, kind+" ") && strings.Contains(s, text)
		}), "%s: no %q in %q", what, note, got)
	}
}

// expand writes out "RAMP value start..end/step" and sorts nothing: expected
// lines stand in the order of the comparison.
func (s *script) expand(t *testing.T, lines []string) []string {
	out := []string{}
	for _, line := range lines {
		if line == "none" {
			continue
		}
		if head, ramp, ok := strings.Cut(line, "RAMP "); ok {
			v, span, _ := strings.Cut(ramp, " ")
			start, end, step := parseRange(t, span)
			for at := start; at <= end; at += step {
				head += fmt.Sprintf("%s@%s ", v, strconv.FormatFloat(at, 'f', -1, 64))
			}
			line = strings.TrimSpace(head)
		}
		out = append(out, line)
	}
	return out
}
