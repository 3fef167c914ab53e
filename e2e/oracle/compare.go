package oracle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Difference is the first thing in which an answer is not the oracle's.
type Difference struct {
	// Kind is one of: error, type, annotations, series, order, times, value, histogram.
	Kind string
	// Where names the series; T is the time of the sample, 0 if there is none.
	Where     string
	T         int64
	Want, Got string
}

func (d *Difference) String() string {
	where := d.Where
	if d.T != 0 {
		where += fmt.Sprintf(" @%d", d.T)
	}
	return fmt.Sprintf("%s differ %s\n    want %s\n    got  %s", d.Kind, where, d.Want, d.Got)
}

// Diff returns the first difference of two answers, or nil.
func Diff(want, got Answer) *Difference {
	if d := diffErrors(want.Err, got.Err); d != nil {
		return d
	}
	if d := diffValues(want.Value, got.Value); d != nil {
		return d
	}
	if !slices.Equal(want.Warnings, got.Warnings) {
		return diffTexts("warnings", want.Warnings, got.Warnings)
	}
	if !slices.Equal(want.Infos, got.Infos) {
		return diffTexts("infos", want.Infos, got.Infos)
	}
	return nil
}

func diffTexts(where string, want, got []string) *Difference {
	only := func(a, b []string) string {
		var out []string
		for _, s := range a {
			if !slices.Contains(b, s) {
				out = append(out, s)
			}
		}
		return fmt.Sprintf("%d %s, alone %q", len(a), where, out)
	}
	return &Difference{Kind: "annotations", Where: "in " + where, Want: only(want, got), Got: only(got, want)}
}

func diffErrors(want, got error) *Difference {
	text := func(err error) string {
		if err == nil {
			return "no error"
		}
		return fmt.Sprintf("%s error %q", errorKind(err), err.Error())
	}
	if text(want) == text(got) {
		return nil
	}
	return &Difference{Kind: "error", Want: text(want), Got: text(got)}
}

// errorKind is what the API's codes depend on.
func errorKind(err error) string {
	switch {
	case is[promql.ErrQueryTimeout](err):
		return "timeout"
	case is[promql.ErrQueryCanceled](err):
		return "canceled"
	case is[promql.ErrTooManySamples](err):
		return "too many samples"
	case is[promql.ErrStorage](err):
		return "storage"
	case is[parser.ParseErrors](err):
		return "parse"
	}
	return "other"
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func diffValues(want, got parser.Value) *Difference {
	if w, g := fmt.Sprintf("%T", want), fmt.Sprintf("%T", got); w != g {
		return &Difference{Kind: "type", Want: w, Got: g}
	}
	switch want := want.(type) {
	case promql.Matrix:
		return diffMatrices(want, got.(promql.Matrix))
	case promql.Vector:
		return diffMatrices(asMatrix(want), asMatrix(got.(promql.Vector)))
	case promql.Scalar:
		got := got.(promql.Scalar)
		if want.T != got.T || !sameFloat(want.V, got.V) {
			return &Difference{Kind: "value", Where: "of scalar", T: want.T, Want: fmt.Sprintf("%s @%d", floatText(want.V), want.T), Got: fmt.Sprintf("%s @%d", floatText(got.V), got.T)}
		}
	case promql.String:
		if want != got.(promql.String) {
			return &Difference{Kind: "value", Where: "of string", Want: want.String(), Got: got.String()}
		}
	}
	return nil
}

// asMatrix keeps the order and the one sample of each element.
func asMatrix(v promql.Vector) promql.Matrix {
	out := make(promql.Matrix, len(v))
	for i, s := range v {
		if out[i].Metric = s.Metric; s.H != nil {
			out[i].Histograms = []promql.HPoint{{T: s.T, H: s.H}}
		} else {
			out[i].Floats = []promql.FPoint{{T: s.T, F: s.F}}
		}
	}
	return out
}

func diffMatrices(want, got promql.Matrix) *Difference {
	if d := diffSeries(want, got); d != nil {
		return d
	}
	for i, w := range want {
		if d := diffPoints(w, got[i]); d != nil {
			d.Where = "in " + w.Metric.String()
			return d
		}
	}
	return nil
}

// diffSeries compares the label sets and their order.
func diffSeries(want, got promql.Matrix) *Difference {
	w, g := metrics(want), metrics(got)
	if slices.Equal(w, g) {
		return nil
	}
	sw, sg := slices.Clone(w), slices.Clone(g)
	sort.Strings(sw)
	sort.Strings(sg)
	if slices.Equal(sw, sg) {
		return &Difference{Kind: "order", Where: "of series", Want: shorten(strings.Join(w, " ")), Got: shorten(strings.Join(g, " "))}
	}
	alone := func(a, b []string) string {
		i := 0
		for i < len(a) && slices.Contains(b, a[i]) {
			i++
		}
		if i == len(a) {
			return fmt.Sprintf("%d series", len(a))
		}
		return fmt.Sprintf("%d series, alone %s", len(a), a[i])
	}
	return &Difference{Kind: "series", Want: alone(w, g), Got: alone(g, w)}
}

func metrics(m promql.Matrix) []string {
	out := make([]string, len(m))
	for i, s := range m {
		out[i] = s.Metric.String()
	}
	return out
}

func shorten(s string) string {
	if len(s) > 400 {
		return s[:400] + "..."
	}
	return s
}

func diffPoints(want, got promql.Series) *Difference {
	for i, w := range want.Floats {
		if i == len(got.Floats) || got.Floats[i].T != w.T {
			return diffTimes(want, got)
		}
		if g := got.Floats[i]; !sameFloat(w.F, g.F) {
			return &Difference{Kind: "value", T: w.T, Want: exactText(w.F), Got: exactText(g.F)}
		}
	}
	for i, w := range want.Histograms {
		if i == len(got.Histograms) || got.Histograms[i].T != w.T {
			return diffTimes(want, got)
		}
		if g := got.Histograms[i]; !sameHistogram(w.H, g.H) {
			return &Difference{Kind: "histogram", T: w.T, Want: histogramText(w.H), Got: histogramText(g.H)}
		}
	}
	if len(want.Floats) != len(got.Floats) || len(want.Histograms) != len(got.Histograms) {
		return diffTimes(want, got)
	}
	return nil
}

// diffTimes names the first time that only one of the two series has.
func diffTimes(want, got promql.Series) *Difference {
	at := func(s promql.Series, other promql.Series) (t int64, text string) {
		text = fmt.Sprintf("%d floats, %d histograms", len(s.Floats), len(s.Histograms))
		for _, p := range s.Floats {
			if !slices.ContainsFunc(other.Floats, func(o promql.FPoint) bool { return o.T == p.T }) {
				return p.T, text + fmt.Sprintf(", alone %s @%d", floatText(p.F), p.T)
			}
		}
		for _, p := range s.Histograms {
			if !slices.ContainsFunc(other.Histograms, func(o promql.HPoint) bool { return o.T == p.T }) {
				return p.T, text + fmt.Sprintf(", alone %s @%d", histogramText(p.H), p.T)
			}
		}
		return 0, text
	}
	tw, w := at(want, got)
	tg, g := at(got, want)
	if tw == 0 || tg != 0 && tg < tw {
		tw = tg
	}
	return &Difference{Kind: "times", T: tw, Want: w, Got: g}
}

func exactText(f float64) string { return fmt.Sprintf("%v (%016x)", f, math.Float64bits(f)) }

// sameFloat holds floats equal by their bits, and all NaNs that are no stale markers.
func sameFloat(a, b float64) bool {
	if math.Float64bits(a) == math.Float64bits(b) {
		return true
	}
	return math.IsNaN(a) && math.IsNaN(b) && value.IsStaleNaN(a) == value.IsStaleNaN(b)
}

func sameHistogram(a, b *histogram.FloatHistogram) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.CounterResetHint == b.CounterResetHint && a.Schema == b.Schema &&
		sameFloat(a.ZeroThreshold, b.ZeroThreshold) && sameFloat(a.ZeroCount, b.ZeroCount) &&
		sameFloat(a.Count, b.Count) && sameFloat(a.Sum, b.Sum) &&
		slices.Equal(a.PositiveSpans, b.PositiveSpans) && slices.Equal(a.NegativeSpans, b.NegativeSpans) &&
		slices.EqualFunc(a.PositiveBuckets, b.PositiveBuckets, sameFloat) &&
		slices.EqualFunc(a.NegativeBuckets, b.NegativeBuckets, sameFloat) &&
		slices.EqualFunc(a.CustomValues, b.CustomValues, sameFloat)
}

// sorted returns the value with its series in label order.
func sorted(a Answer) Answer {
	switch v := a.Value.(type) {
	case promql.Matrix:
		v = slices.Clone(v)
		slices.SortStableFunc(v, func(x, y promql.Series) int { return labels.Compare(x.Metric, y.Metric) })
		a.Value = v
	case promql.Vector:
		v = slices.Clone(v)
		slices.SortStableFunc(v, func(x, y promql.Sample) int { return labels.Compare(x.Metric, y.Metric) })
		a.Value = v
	}
	return a
}

// Text shows an answer with every bit.
func (a Answer) Text() string {
	var m promql.Matrix
	switch v := a.Value.(type) {
	case promql.Matrix:
		m = v
	case promql.Vector:
		m = asMatrix(v)
	case promql.Scalar:
		return fmt.Sprintf("scalar %s @%d\n", exactText(v.V), v.T)
	default:
		return fmt.Sprintln(v)
	}
	var out strings.Builder
	for _, s := range m {
		fmt.Fprintf(&out, "  %s\n", s.Metric)
		for _, p := range s.Floats {
			fmt.Fprintf(&out, "    @%d %s\n", p.T, exactText(p.F))
		}
		for _, p := range s.Histograms {
			fmt.Fprintf(&out, "    @%d %s\n", p.T, histogramText(p.H))
		}
	}
	return out.String()
}
