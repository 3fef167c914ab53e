package mqldiff

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// looseness says what an answer leaves to chance.
type looseness int

const (
	// anyOrder: VictoriaMetrics keeps groups of aggregates, of operators and of
	// picked series in Go maps, and sorts at the end what may be sorted; not below
	// sort, topk and the like. Items are compared as a set.
	anyOrder looseness = 1 << iota
	// inexactSums: the order in which series are summed shows in the last digits.
	// The order is that of internal ids, made of hashes and counters, or of a map.
	// Numbers are compared to 1e-9.
	inexactSums
	// pickedValues: topk and bottomk at the top, over series of which some are
	// equal at a time. Which of them is picked depends on the order they come in, as
	// for inexactSums; the values of each time do not, and are what is compared.
	pickedValues
	// mergedValues: an operator puts series that match the same into one if no two of
	// them have values at more than two times both, when it comes to them. There the
	// last counts, in the order of inexactSums. Two values of a series may differ, and
	// whether all could be merged.
	mergedValues
	// tornText: of what is left of a query when a piece is taken away, nothing is known.
	// The text of an error is compared, of success the status alone.
	tornText
)

// answer is what came back, without statistics.
type answer struct {
	Status int
	Body   string
	// Fetched is how many series were read. It is told, not compared: VictoriaMetrics
	// counts series of which a block overlaps the range that is read, though it may
	// hold no sample in it.
	Fetched string
}

var (
	statistics = regexp.MustCompile(`,"stats":\{[^}]*\}`)
	fetched    = regexp.MustCompile(`"seriesFetched": "(\d+)"`)
)

func newAnswer(status int, body string) answer {
	a := answer{Status: status, Body: statistics.ReplaceAllString(body, "")}
	if m := fetched.FindStringSubmatch(body); m != nil {
		a.Fetched = m[1]
	}
	return a
}

// arbitrary are errors that tell of one of several series or groups: of the first
// that is met in a map, on one side or the other.
var arbitrary = regexp.MustCompile(`duplicate time series on the (left|right) side|duplicate output timeseries`)

// countValues are the labels of aggregates in a text with count_values: it adds its label
// to those after without, each time it is evaluated, and takes it from those after by.
var countValues = regexp.MustCompile(`(by|without)\([^()]*\)`)

// differs says in what got is not want, "" if in nothing that counts.
func differs(loose looseness, got, want answer) string {
	duplicates := func(a answer) bool { return a.Status != 200 && arbitrary.MatchString(a.Body) }
	if loose&mergedValues != 0 && (duplicates(got) && want.Status == 200 || got.Status == 200 && duplicates(want)) {
		return ""
	}
	if got.Status != want.Status {
		return fmt.Sprintf("status %d, want %d", got.Status, want.Status)
	}
	if got.Body == want.Body {
		return ""
	}
	if got.Status != 200 {
		plain := func(a answer) string { return countValues.ReplaceAllString(a.Body, "") }
		if strings.Contains(want.Body, "count_values") && plain(got) == plain(want) {
			return ""
		}
		if duplicates(got) && duplicates(want) {
			return ""
		}
		return "texts differ"
	}
	if loose&tornText != 0 {
		return ""
	}
	if loose == 0 {
		return "bytes differ"
	}
	g, err := parseItems(got.Body)
	if err != nil {
		return err.Error()
	}
	w, err := parseItems(want.Body)
	if err != nil {
		return err.Error()
	}
	if loose&pickedValues != 0 {
		g, w = byTime(g), byTime(w)
	}
	if loose&(anyOrder|pickedValues) != 0 {
		sortItems(g)
		sortItems(w)
	}
	return itemsDiffer(loose, g, w)
}

// item is a series of an answer.
type item struct {
	metric string // its labels in order
	points []point
}

type point struct {
	time  json.Number
	value string
}

// UnmarshalJSON reads [time, "value"].
func (p *point) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.time, &p.value})
}

func parseItems(body string) (out []item, err error) {
	var top struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  *point
				Values []point
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &top); err != nil {
		return nil, err
	}
	for _, r := range top.Data.Result {
		if r.Value != nil {
			r.Values = append(r.Values, *r.Value)
		}
		metric, err := json.Marshal(r.Metric)
		if err != nil {
			return nil, err
		}
		out = append(out, item{string(metric), r.Values})
	}
	return out, nil
}

func sortItems(a []item) {
	slices.SortStableFunc(a, func(x, y item) int { return strings.Compare(x.metric, y.metric) })
}

// byTime makes an item of each time, with its values in order.
func byTime(a []item) (out []item) {
	at := map[json.Number][]point{}
	for _, s := range a {
		for _, p := range s.points {
			at[p.time] = append(at[p.time], p)
		}
	}
	for t, points := range at {
		slices.SortFunc(points, func(x, y point) int { return strings.Compare(x.value, y.value) })
		out = append(out, item{string(t), points})
	}
	return out
}

func itemsDiffer(loose looseness, got, want []item) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d series, want %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if g.metric != w.metric || len(g.points) != len(w.points) {
			return fmt.Sprintf("%s with %d points, want %s with %d", g.metric, len(g.points), w.metric, len(w.points))
		}
		merged := 0
		if loose&mergedValues != 0 {
			merged = 2
		}
		for k, p := range g.points {
			q := w.points[k]
			if p.time == q.time && (p.value == q.value || loose&inexactSums != 0 && near(p.value, q.value)) {
				continue
			}
			if merged--; merged < 0 || p.time != q.time {
				return fmt.Sprintf("%s: %v, want %v", g.metric, p, q)
			}
		}
	}
	return ""
}

// near tells whether two numbers are the same to 1e-9.
func near(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y), 1e-3)
}
