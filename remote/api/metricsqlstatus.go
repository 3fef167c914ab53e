package api

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// vmActiveQueries is activeQueries in VictoriaMetrics' form.
func (a *API) vmActiveQueries(r *http.Request) vmResult {
	res := a.activeQueries(r)
	list, ok := res.data.(rawJSON)
	if !ok {
		return vmError(res.err.err)
	}
	return vmResult{whole: true, body: slices.Concat(rawJSON(`{"status":"ok","data":`), list, rawJSON("}"))}
}

// vmTopQueries is topQueries in VictoriaMetrics' form: without a status.
func (a *API) vmTopQueries(r *http.Request) vmResult {
	res := a.topQueries(r)
	list, ok := res.data.(rawJSON)
	if !ok {
		return vmError(fmt.Errorf("cannot query status endpoint: %w", res.err.err))
	}
	return vmResult{whole: true, body: list}
}

// vmMetadata lists what is known of metric families, one entry of each.
func (a *API) vmMetadata(r *http.Request) vmResult {
	limit, err := vmhttp.Int(r.Form, "limit")
	if err != nil {
		return vmError(err)
	}
	all := a.opts.Metadata.Metadata(r.Form.Get("metric"), max(limit, 0))
	body := []byte(`"data":{`)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name]) == 0 || limit > 0 && i >= limit {
			continue
		}
		if body[len(body)-1] != '{' {
			body = append(body, ',')
		}
		m := all[name][0]
		body = append(vmhttp.AppendString(body, name), `:[{"type":`...)
		body = vmhttp.AppendString(body, string(m.Type))
		if m.Unit != "" {
			body = vmhttp.AppendString(append(body, `,"unit":`...), m.Unit)
		}
		body = append(vmhttp.AppendString(append(body, `,"help":`...), m.Help), "}]"...)
	}
	return vmResult{body: rawJSON(append(body, '}'))}
}

// vmMaxTop bounds the rows of a table of status/tsdb.
const vmMaxTop = 1000

// vmTSDB counts the series of a day, today's unless the argument date names another
// or is 0, which is all time: by name, label and value. Only series that match
// match[] are counted; focusLabel asks for the counts by its values.
func (a *API) vmTSDB(r *http.Request) vmResult {
	now := a.now()
	args, err := vmhttp.ReadLookup(r, promqlx.ParseSelectors, now, false)
	if err != nil {
		return vmError(err)
	}
	l := lookup{sets: args.Sets}
	l.mint, l.maxt = wholeDays(now.UnixMilli(), now.UnixMilli())
	switch date := r.Form.Get("date"); date {
	case "":
	case "0":
		l.mint, l.maxt = 0, vmhttp.MaxTime
	default:
		t, err := time.Parse("2006-01-02", date)
		if err != nil {
			return vmError(fmt.Errorf("cannot parse `date` arg %q: %w", date, err))
		}
		l.mint, l.maxt = wholeDays(t.UnixMilli(), t.UnixMilli())
	}
	top := 10
	if s := r.Form.Get("topN"); s != "" {
		if top, err = strconv.Atoi(s); err != nil {
			return vmError(fmt.Errorf("cannot parse `topN` arg %q: %w", s, err))
		}
		top = min(max(top, 1), vmMaxTop)
	}
	c := newVMCounts(r.Form.Get("focusLabel"))
	done, err := a.eachSeries(r.Context(), l, c.add)
	defer done()
	if err != nil {
		return vmError(fmt.Errorf("cannot obtain tsdb stats: %w", err))
	}
	return vmResult{body: rawJSON(c.appendJSON(nil, top))}
}

// vmCounts counts series by what they carry.
type vmCounts struct {
	focus                                  string
	series, pairs                          int
	byName, byLabel, byFocus, byPair, byOf map[string]int // byOf: values by label
}

func newVMCounts(focus string) *vmCounts {
	return &vmCounts{focus: focus, byName: map[string]int{}, byLabel: map[string]int{}, byFocus: map[string]int{}, byPair: map[string]int{}, byOf: map[string]int{}}
}

// add counts a series. It keeps none of its strings.
func (c *vmCounts) add(lset labels.Labels) bool {
	c.series++
	lset.Range(func(l labels.Label) {
		c.pairs++
		count(c.byLabel, l.Name)
		if l.Name == labels.MetricName {
			count(c.byName, l.Value)
		}
		if l.Name == c.focus {
			count(c.byFocus, l.Value)
		}
		if count(c.byPair, l.Name+"="+l.Value) {
			count(c.byOf, l.Name)
		}
	})
	return true
}

// count adds one to a name's count and tells whether it is the first.
func count(of map[string]int, name string) bool {
	if n, ok := of[name]; ok {
		of[name] = n + 1
		return false
	}
	of[strings.Clone(name)] = 1
	return true
}

func (c *vmCounts) appendJSON(dst []byte, top int) []byte {
	dst = strconv.AppendInt(append(dst, `"data":{"totalSeries":`...), int64(c.series), 10)
	dst = strconv.AppendInt(append(dst, `,"totalLabelValuePairs":`...), int64(c.pairs), 10)
	for _, table := range []struct {
		name string
		of   map[string]int
	}{
		{"seriesCountByMetricName", c.byName}, {"seriesCountByLabelName", c.byLabel},
		{"seriesCountByFocusLabelValue", c.byFocus}, {"seriesCountByLabelValuePair", c.byPair},
		{"labelValueCountByLabelName", c.byOf},
	} {
		dst = append(vmhttp.AppendString(append(dst, ','), table.name), ":["...)
		for i, name := range largest(table.of, top) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = vmhttp.AppendString(append(dst, `{"name":`...), name)
			dst = strconv.AppendInt(append(dst, `,"value":`...), int64(table.of[name]), 10)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// largest are the names of the n largest counts, equal ones by name.
func largest(of map[string]int, n int) []string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(of[b]-of[a], strings.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// metricNamesStats tells how often each metric's name stands in a selector of the
// queries that the server remembers, the last 20,000: names that nobody asks for come
// first. VictoriaMetrics counts since ever instead, and series that are read by
// other names too.
func (a *API) metricNamesStats(r *http.Request) vmResult {
	limit, err := vmhttp.Int(r.Form, "limit")
	if err != nil {
		return vmResult{err: err, plainError: true}
	}
	if limit <= 0 {
		limit = 1000
	}
	most := -1
	if r.Form.Get("le") != "" {
		if most, err = vmhttp.Int(r.Form, "le"); err != nil {
			return vmResult{err: err, plainError: true}
		}
	}
	pattern, err := labels.NewMatcher(labels.MatchRegexp, labels.MetricName, ".*(?:"+r.Form.Get("match_pattern")+").*")
	if err != nil {
		return vmResult{err: fmt.Errorf("match_pattern=%q must be valid regex: %w", r.Form.Get("match_pattern"), err), plainError: true}
	}
	names, err := a.metricNames(r, pattern)
	if err != nil {
		return vmResult{err: err, plainError: true}
	}
	asked := a.namesAsked()
	slices.SortStableFunc(names, func(x, y string) int { return asked[x] - asked[y] })
	body := fmt.Appendf(nil, `"statsCollectedSince":%d,"statsCollectedRecordsTotal":%d,"records":[`, a.start.Unix(), len(names))
	n := 0
	for _, name := range names {
		if n == limit || most >= 0 && asked[name] > most {
			break
		}
		if n > 0 {
			body = append(body, ',')
		}
		n++
		body = vmhttp.AppendString(append(body, `{"metricName":`...), name)
		body = fmt.Appendf(body, `,"queryRequestsCount":%d}`, asked[name])
	}
	return vmResult{body: rawJSON(append(body, ']'))}
}

// metricNames are the metrics' names that match, sorted.
func (a *API) metricNames(r *http.Request, pattern *labels.Matcher) (names []string, err error) {
	q, err := a.opts.Storage.Querier(0, vmhttp.MaxTime)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	all, _, err := q.LabelValues(r.Context(), labels.MetricName, nil, pattern)
	for _, name := range all {
		names = append(names, strings.Clone(name))
	}
	return names, err
}

// namesAsked counts the queries whose selectors name a metric. Texts are read as
// MetricsQL, which most of PromQL is too; what is not is left out.
func (a *API) namesAsked() map[string]int {
	asked := map[string]int{}
	const all, ever = 1 << 30, 100 * 365 * 24 * time.Hour
	for _, row := range a.opts.Engine.TopQueries(all, ever).ByCount {
		for _, name := range promqlx.MetricsQLNames(row.Text) {
			asked[name] += row.Count
		}
	}
	return asked
}
