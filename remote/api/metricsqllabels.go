package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// dayMillis is the grain of look-ups of labels and series: VictoriaMetrics knows of a
// day which series it has.
const dayMillis = 24 * 60 * 60 * 1000

// vmLookup reads what the endpoints about labels and series have in common. Without
// a start the last minutes, that is the day of the end, are looked at.
func (a *API) vmLookup(r *http.Request, needsMatch bool) (l lookup, err error) {
	args, err := vmhttp.ReadLookup(r, promqlx.ParseSelectors, a.now(), needsMatch)
	if err != nil {
		return l, err
	}
	if args.Start == 0 {
		args.Start = args.End - vmStep
	}
	if l.limit, err = vmhttp.Int(r.Form, "limit"); err != nil {
		return l, err
	}
	l.limit = max(l.limit, 0)
	l.sets = args.Sets
	l.mint, l.maxt = wholeDays(args.Start, args.End)
	return l, nil
}

// wholeDays are the days, in UTC, that a range touches.
func wholeDays(start, end int64) (mint, maxt int64) {
	start, end = max(start, 0), max(end, 0)
	return start - start%dayMillis, end - end%dayMillis + dayMillis - 1
}

func (a *API) vmLabelNames(r *http.Request) vmResult {
	l, err := a.vmLookup(r, false)
	if err != nil {
		return vmError(err)
	}
	return vmStrings(a.listStrings(r.Context(), l, func(q storage.Querier, hints *storage.LabelHints, set []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(r.Context(), hints, set...)
	}))
}

func (a *API) vmLabelValues(r *http.Request) vmResult {
	name, _ := labelOfPath(r.URL.Path)
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	l, err := a.vmLookup(r, false)
	if err != nil {
		return vmError(err)
	}
	return vmStrings(a.listStrings(r.Context(), l, func(q storage.Querier, hints *storage.LabelHints, set []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(r.Context(), name, hints, set...)
	}))
}

// vmStrings makes the answer of a list that was found.
func vmStrings(res result) vmResult {
	if res.err != nil {
		return vmResult{err: res.err.err, close: res.close}
	}
	list, _ := res.data.(stringsData)
	return vmResult{body: vmList(list), close: res.close}
}

// vmList is a list of strings.
type vmList []string

func (d vmList) writeJSON(s *sink) {
	s.buf = append(s.buf, `"data":[`...)
	for i, text := range d {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = vmhttp.AppendString(s.buf, text)
		s.spill()
	}
	s.buf = append(s.buf, ']')
}

// vmSeries lists the label sets that match any of the selectors.
func (a *API) vmSeries(r *http.Request) vmResult {
	l, err := a.vmLookup(r, true)
	if err != nil {
		return vmError(err)
	}
	found := vmSeriesData{}
	done, err := a.eachSeries(r.Context(), l, func(lset labels.Labels) bool {
		found = append(found, lset)
		return l.limit == 0 || len(found) < l.limit
	})
	if err != nil {
		return vmResult{err: fmt.Errorf("cannot fetch time series: %w", err), close: done}
	}
	return vmResult{body: found, close: done}
}

// eachSeries calls f with the labels of the series of a look-up, until it is false.
// They are valid until done is called, which is never nil.
func (a *API) eachSeries(ctx context.Context, l lookup, f func(labels.Labels) bool) (done func(), err error) {
	q, err := a.opts.Storage.Querier(l.mint, l.maxt)
	if err != nil {
		return func() {}, err
	}
	done = func() { _ = q.Close() }
	if len(l.sets) == 0 {
		l.sets = [][]*labels.Matcher{{labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, ".*")}}
	}
	set := selectSeries(ctx, q, l)
	for n := 1; set.Next(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		if !f(set.At().Labels()) {
			return done, nil
		}
	}
	return done, set.Err()
}

// vmSeriesData is a list of label sets.
type vmSeriesData []labels.Labels

func (d vmSeriesData) writeJSON(s *sink) {
	s.buf = append(s.buf, `"data":[`...)
	for i, lset := range d {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = appendVMLabels(s.buf, lset)
		s.spill()
	}
	s.buf = append(s.buf, ']')
}

// appendVMLabels appends a label set as an object, the metric's name first.
func appendVMLabels(dst []byte, lset labels.Labels) []byte {
	dst = append(dst, '{')
	empty := len(dst)
	add := func(name, value string) {
		dst = vmhttp.AppendString(dst, name)
		dst = vmhttp.AppendString(append(dst, ':'), value)
		dst = append(dst, ',')
	}
	if name := lset.Get(labels.MetricName); name != "" {
		add(labels.MetricName, name)
	}
	lset.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			add(l.Name, l.Value)
		}
	})
	if len(dst) == empty {
		return append(dst, '}')
	}
	dst[len(dst)-1] = '}' // the last comma
	return dst
}

// seriesCount counts all series there are.
func (a *API) seriesCount(r *http.Request) vmResult {
	count := 0
	done, err := a.eachSeries(r.Context(), lookup{mint: math.MinInt64, maxt: math.MaxInt64}, func(labels.Labels) bool {
		count++
		return true
	})
	if err != nil {
		return vmResult{err: fmt.Errorf("cannot obtain series count: %w", err), close: done}
	}
	return vmResult{body: rawJSON(append(strconv.AppendInt([]byte(`"data":[`), int64(count), 10), ']')), close: done}
}
