package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx"
)

// maxPoints bounds the points of a series in a range query: 60 s for a week or
// 1 h for a year.
const maxPoints = 11000

// queryParams are what both query endpoints take.
type queryParams struct {
	limit   int
	timeout time.Duration
	opts    promqlx.QueryOptions
	stats   string
	explain bool // tell the plan instead of evaluating it
}

// query evaluates an expression at one time.
func (a *API) query(r *http.Request) result {
	limit, err := parseLimit(r.Form.Get("limit"))
	if err != nil {
		return invalidParam(err, "limit")
	}
	t, err := parseTimeParam(r, "time", a.now())
	if err != nil {
		return invalidParam(err, "time")
	}
	p, apiErr := parseQueryParams(r, limit)
	if apiErr != nil {
		return result{err: apiErr}
	}
	return a.run(r, p, func(ctx context.Context) (promqlx.Query, error) {
		return a.opts.Engine.Instant(ctx, a.opts.Storage, r.Form.Get("query"), p.opts, t)
	})
}

// queryRange evaluates an expression at every step of a range.
func (a *API) queryRange(r *http.Request) result {
	limit, err := parseLimit(r.Form.Get("limit"))
	if err != nil {
		return invalidParam(err, "limit")
	}
	start, err := parseTime(r.Form.Get("start"))
	if err != nil {
		return invalidParam(err, "start")
	}
	end, err := parseTime(r.Form.Get("end"))
	if err != nil {
		return invalidParam(err, "end")
	}
	if end.Before(start) {
		return invalidParam(errors.New("end timestamp must not be before start time"), "end")
	}
	step, err := parseDuration(r.Form.Get("step"))
	if err != nil {
		return invalidParam(err, "step")
	}
	if step <= 0 {
		return invalidParam(errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"), "step")
	}
	if tooFine(start, end, step) {
		return badData(errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"))
	}
	if step < promqlx.MinStep { // Prometheus divides by the milliseconds of it, and panics
		return invalidParam(fmt.Errorf("query resolution step widths below %s are not accepted, got %s", promqlx.MinStep, step), "step")
	}
	p, apiErr := parseQueryParams(r, limit)
	if apiErr != nil {
		return result{err: apiErr}
	}
	return a.run(r, p, func(ctx context.Context) (promqlx.Query, error) {
		return a.opts.Engine.Range(ctx, a.opts.Storage, r.Form.Get("query"), p.opts, start, end, step)
	})
}

// tooFine tells whether there are more than maxPoints steps. Times can be further
// apart than a time.Duration can be long.
func tooFine(start, end time.Time, step time.Duration) bool {
	if d := end.Sub(start); d < math.MaxInt64 {
		return d/step > maxPoints
	}
	return float64(end.Unix()-start.Unix())/step.Seconds() > maxPoints
}

// run prepares and evaluates, or explains, a query within its timeout.
func (a *API) run(r *http.Request, p queryParams, prepare func(context.Context) (promqlx.Query, error)) (res result) {
	ctx := r.Context()
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.timeout)
		defer cancel()
	}
	qry, err := prepare(ctx)
	if err != nil {
		return result{err: prepareError(err)}
	}
	defer func() {
		if res.close == nil { // on a panic
			qry.Close()
		}
	}()
	if p.explain {
		return explain(qry)
	}
	out := qry.Exec(ctx)
	if out.Err != nil {
		return result{err: queryError(out.Err), close: qry.Close}
	}
	warnings := out.Warnings
	value, cut := truncate(out.Value, p.limit)
	if cut {
		warnings.Add(errTruncated)
	}
	if err := statsWarning(p.stats); err != nil {
		warnings.Add(err)
	}
	data := queryData{value: value}
	if p.stats != "" {
		if data.stats, err = json.Marshal(stats.NewQueryStats(qry.Stats())); err != nil {
			return result{err: &apiError{kindInternal, fmt.Errorf("marshal statistics: %w", err)}, close: qry.Close}
		}
	}
	if data.scalar, err = marshalScalar(value); err != nil {
		return result{err: &apiError{kindInternal, fmt.Errorf("marshal value: %w", err)}, close: qry.Close}
	}
	return result{data: data, warnings: warnings, close: qry.Close, trace: p.opts.Trace}
}

// explain answers with the plan of a query that is not executed.
func explain(qry promqlx.Query) result {
	x, ok := qry.(promqlx.Explainer)
	if !ok {
		return badData(errors.New("this query cannot be explained"))
	}
	text := append([]byte(`{"explain":`), appendString(nil, x.Explain())...)
	return result{data: rawJSON(append(text, '}'))}
}

func parseQueryParams(r *http.Request, limit int) (queryParams, *apiError) {
	p := queryParams{limit: limit, stats: r.Form.Get("stats")}
	if v := r.Form.Get("timeout"); v != "" {
		timeout, err := parseDuration(v)
		if err == nil && timeout <= 0 {
			err = fmt.Errorf("timeout must be positive, got %s", timeout)
		}
		if err != nil {
			return p, invalidParam(err, "timeout").err
		}
		p.timeout = timeout
	}
	p.opts.Timings, p.opts.PerStepStats = p.stats != "", p.stats == statsAll
	if v := r.Form.Get("lookback_delta"); v != "" {
		d, err := parseDuration(v)
		if err != nil {
			return p, badData(fmt.Errorf("error parsing lookback delta duration: %w", err)).err
		}
		p.opts.LookbackDelta = d
	}
	if v := r.Header.Get("X-Prometheus-Use-Start-Timestamps"); v != "" {
		use, err := strconv.ParseBool(v)
		if err != nil {
			return p, badData(fmt.Errorf("error parsing X-Prometheus-Use-Start-Timestamps header: %w", err)).err
		}
		p.opts.UseStartTimestamps = &use
	}
	var err error
	if p.explain, err = parseBool(r.Form.Get("explain")); err != nil {
		return p, invalidParam(err, "explain").err
	}
	trace, err := parseBool(r.Form.Get("trace"))
	if err != nil {
		return p, invalidParam(err, "trace").err
	}
	if p.opts.NoCache, err = parseBool(r.Form.Get("nocache")); err != nil {
		return p, invalidParam(err, "nocache").err
	}
	p.opts.NoCache = p.opts.NoCache || p.stats != "" // statistics are of a whole evaluation
	p.opts.Trace = promqlx.NewTrace(trace, "%s %s", r.URL.Path, r.Form.Get("query"))
	p.opts.Client = r.RemoteAddr
	return p, nil
}

// parseBool reads a switch that is off when it is not there.
func parseBool(s string) (bool, error) {
	if s == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("cannot parse %q to a valid boolean", s)
	}
	return on, nil
}

// The values of the parameter stats; any other gives plain statistics and a warning.
const (
	statsTrue = "true"
	statsAll  = "all" // per step as well
)

func statsWarning(s string) error {
	if s == "" || s == statsTrue || s == statsAll {
		return nil
	}
	return fmt.Errorf("value %q for parameter \"stats\" is deprecated and will be rejected in the next major release, use %q or %q", s, statsTrue, statsAll)
}

// truncate cuts a vector or matrix at limit series; 0 means no limit.
func truncate(v parser.Value, limit int) (parser.Value, bool) {
	if limit == 0 {
		return v, false
	}
	switch v := v.(type) {
	case promql.Matrix:
		if len(v) > limit {
			return v[:limit], true
		}
	case promql.Vector:
		if len(v) > limit {
			return v[:limit], true
		}
	}
	return v, false
}

// queryData is the payload of both query endpoints.
type queryData struct {
	value  parser.Value
	scalar []byte // the JSON of a value that is no vector or matrix
	stats  []byte // JSON or nothing
}

// marshalScalar returns the JSON of a scalar or string, nil for other values.
func marshalScalar(v parser.Value) ([]byte, error) {
	switch v.(type) {
	case promql.Matrix, promql.Vector:
		return nil, nil
	}
	return json.Marshal(v)
}

func (d queryData) writeJSON(s *sink) {
	s.buf = append(s.buf, `{"resultType":`...)
	s.buf = appendString(s.buf, string(d.value.Type()))
	s.buf = append(s.buf, `,"result":`...)
	switch v := d.value.(type) {
	case promql.Matrix:
		s.writeMatrix(v)
	case promql.Vector:
		s.writeVector(v)
	default:
		s.buf = append(s.buf, d.scalar...)
	}
	if d.stats != nil {
		s.buf = append(s.buf, `,"stats":`...)
		s.buf = append(s.buf, d.stats...)
	}
	s.buf = append(s.buf, '}')
}

func (s *sink) writeVector(v promql.Vector) {
	s.buf = append(s.buf, '[')
	for i, sample := range v {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = appendSample(s.buf, sample)
		s.spill()
	}
	s.buf = append(s.buf, ']')
}
