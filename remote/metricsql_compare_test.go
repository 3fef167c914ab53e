package remote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// statistics are what an answer tells of its making.
var statistics = regexp.MustCompile(`,"stats":\{[^}]*\}`)

// seriesFetched cuts the number of series out of an answer; "" if there is none.
func seriesFetched(body string) string {
	_, rest, _ := strings.Cut(body, `"seriesFetched": "`)
	n, _, _ := strings.Cut(rest, `"`)
	return n
}

// sameAnswer compares bodies as a fact asks for.
func sameAnswer(compare, got, want string) error {
	got, want = statistics.ReplaceAllString(got, ""), statistics.ReplaceAllString(want, "")
	if got == want || compare == "status" {
		return nil
	}
	switch compare {
	case "":
		return errors.New("bytes differ")
	case "lines":
		return sameSet(lineSet(got), lineSet(want))
	case "unordered", "approx":
		g, err := parseAnswer(got)
		if err != nil {
			return err
		}
		w, err := parseAnswer(want)
		if err != nil {
			return err
		}
		return g.same(w, compare == "approx")
	}
	return fmt.Errorf("no such comparison: %q", compare)
}

// answerSet is an answer whose items have no order.
type answerSet struct {
	rest  string // all but the items
	items []answerItem
}

// answerItem is an item: a series, or a label set.
type answerItem struct {
	metric string // its labels in order
	points []answerPoint
}

type answerPoint struct {
	time  json.Number
	value string
}

func parseAnswer(body string) (a answerSet, err error) {
	var top struct {
		Status string
		Data   json.RawMessage
		Error  string
	}
	if err := json.Unmarshal([]byte(body), &top); err != nil {
		return a, err
	}
	var data struct {
		ResultType string
		Result     []struct {
			Metric map[string]string
			Value  *answerPoint
			Values []answerPoint
		}
	}
	a.rest = top.Status + " " + top.Error
	var sets []map[string]string
	if err := json.Unmarshal(top.Data, &sets); err == nil {
		for _, s := range sets {
			a.items = append(a.items, answerItem{metric: labelText(s)})
		}
	} else if err := json.Unmarshal(top.Data, &data); err != nil {
		return a, err
	}
	a.rest += " " + data.ResultType
	for _, r := range data.Result {
		if r.Value != nil {
			r.Values = append(r.Values, *r.Value)
		}
		a.items = append(a.items, answerItem{labelText(r.Metric), r.Values})
	}
	slices.SortStableFunc(a.items, func(x, y answerItem) int { return strings.Compare(x.metric, y.metric) })
	return a, nil
}

func labelText(metric map[string]string) string {
	text, err := json.Marshal(metric) // sorts keys
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (p *answerPoint) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.time, &p.value})
}

func (a answerSet) same(b answerSet, approx bool) error {
	if a.rest != b.rest || len(a.items) != len(b.items) {
		return fmt.Errorf("%q with %d items, want %q with %d", a.rest, len(a.items), b.rest, len(b.items))
	}
	for i, x := range a.items {
		y := b.items[i]
		if x.metric != y.metric || len(x.points) != len(y.points) {
			return fmt.Errorf("%s with %d points, want %s with %d", x.metric, len(x.points), y.metric, len(y.points))
		}
		for k, p := range x.points {
			if q := y.points[k]; p.time != q.time || p.value != q.value && !(approx && near(p.value, q.value)) {
				return fmt.Errorf("%s: %v, want %v", x.metric, p, q)
			}
		}
	}
	return nil
}

// near tells whether two numbers are the same to 1e-9.
func near(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}

// lineSet returns lines sorted, each with its labels sorted: JSON, or text with
// name{label="value",...} in it.
func lineSet(body string) []string {
	var out []string
	for line := range strings.Lines(body) {
		out = append(out, sortedLine(line))
	}
	slices.Sort(out)
	return out
}

var textLabels = regexp.MustCompile(`[^={,]+="(?:[^"\\]|\\.)*"`)

func sortedLine(line string) string {
	if a, err := parseAnswer(line); err == nil {
		return fmt.Sprint(a)
	}
	var v any
	if json.Unmarshal([]byte(line), &v) == nil {
		text, _ := json.Marshal(v)
		return string(text)
	}
	begin, end := strings.IndexByte(line, '{'), strings.LastIndexByte(line, '}')
	if begin < 0 || end < begin {
		return line
	}
	list := textLabels.FindAllString(line[begin+1:end], -1)
	slices.Sort(list)
	return line[:begin+1] + strings.Join(list, ",") + line[end:]
}

func sameSet(got, want []string) error {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("line %q, want %q", got[i], want[i])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d lines, want %d", len(got), len(want))
	}
	return nil
}

// What is compared loosely is not compared too loosely.
func TestSameAnswer(t *testing.T) {
	f := func(same bool, compare, got, want string) {
		t.Helper()
		err := sameAnswer(compare, got, want)
		require.Equal(t, same, err == nil, "%v", err)
	}
	answer := func(items string) string {
		return `{"status":"success","data":{"resultType":"vector","result":[` + items + `]},"stats":{"seriesFetched": "1","executionTimeMsec":3}}`
	}
	a, b := `{"metric":{"x":"1","y":"2"},"value":[1,"3"]}`, `{"metric":{"x":"2"},"value":[1,"0.5"]}`
	f(true, "", answer(a), strings.Replace(answer(a), `Msec":3`, `Msec":0`, 1))
	f(false, "", answer(a+","+b), answer(b+","+a))
	f(true, "unordered", answer(a+","+b), answer(b+","+a))
	f(true, "unordered", answer(`{"metric":{"y":"2","x":"1"},"value":[1,"3"]}`), answer(a))
	f(false, "unordered", answer(`{"metric":{"y":"2","x":"1"},"value":[1,"4"]}`), answer(a))
	f(false, "unordered", answer(`{"metric":{"y":"2","x":"1"},"value":[2,"3"]}`), answer(a))
	f(false, "unordered", answer(a+","+a), answer(a))
	f(true, "approx", answer(`{"metric":{"x":"2"},"value":[1,"0.5000000001"]}`), answer(b))
	f(false, "approx", answer(`{"metric":{"x":"2"},"value":[1,"0.50001"]}`), answer(b))
	f(true, "unordered", `{"status":"success","data":[{"a":"1"},{"b":"1"}]}`, `{"status":"success","data":[{"b":"1"},{"a":"1"}]}`)
	f(false, "unordered", `{"status":"success","data":[{"a":"1"}]}`, `{"status":"success","data":[{"a":"2"}]}`)
	f(true, "lines", "m{a=\"1\",b=\"2\"} 1\nn 2\n", "n 2\nm{b=\"2\",a=\"1\"} 1\n")
	f(false, "lines", "m{a=\"1\",b=\"2\"} 1\n", "m{a=\"1\"} 1\n")
	f(true, "lines", `{"metric":{"a":"1","b":"2"},"values":[1]}`+"\n", `{"metric":{"b":"2","a":"1"},"values":[1]}`+"\n")
	f(true, "status", "x", "y")
	f(false, "other", "x", "y")
}
