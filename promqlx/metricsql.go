package promqlx

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/promqlx/internal/exec"
	"github.com/varvedb/varve/promqlx/internal/metricsql"
	"github.com/varvedb/varve/promqlx/internal/metricsql/eval"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// MetricsQLQuery is a query in the dialect of VictoriaMetrics. Times are as they were
// asked for, in milliseconds: the dialect moves some of them.
type MetricsQLQuery struct {
	Text             string
	Start, End, Step int64
	// Instant asks for the one time Start; Step is the window of functions that name none.
	Instant bool
	// NoCache asks as if nothing could be kept of it. No answer is, but it shows in
	// the alignment of ranges and in the order of series: see its nocache argument.
	NoCache bool
	// Lookback bounds how far back a value is looked for; 0 leaves it to the samples.
	Lookback int64
	// RoundDigits is to how many decimal digits values are rounded; 100 is not at all.
	RoundDigits int
	// Filters are sets of matchers; series have to match all of one set beside what
	// the text asks for. None are no condition.
	Filters [][]*labels.Matcher
	Client  string
	Trace   *Trace
}

// MetricsQLKind is the form of an answer.
type MetricsQLKind int

// The forms of answers.
const (
	MetricsQLVector MetricsQLKind = iota // of one time
	MetricsQLMatrix                      // of a range, or of one time with a subquery
	MetricsQLRaw                         // samples as they are stored: m[d] at one time
)

// MetricsQLResult is what a query came to, until it is closed.
type MetricsQLResult struct {
	Kind MetricsQLKind
	// Start and Step are the times of values: value i is of Start + i*Step.
	Start, Step   int64
	Series        []MetricsQLSeries // in order
	SeriesFetched int
	Err           error // its text is what VictoriaMetrics answers

	query *query
}

// MetricsQLSeries is a series of an answer.
type MetricsQLSeries struct {
	Name   string         // of the metric; may be empty
	Tags   []MetricsQLTag // of raw samples in the order of storage, else by key
	Values []float64      // NaN where there is none
	Times  []int64        // of raw samples; else nil
}

// MetricsQLTag is a label.
type MetricsQLTag = series.Tag

// Close takes the memory of the answer back. It may be called more than once.
func (r *MetricsQLResult) Close() {
	if r.query != nil {
		r.query.Close()
		r.query = nil
	}
}

// ErrForeignStorage is what a MetricsQL query over a storage other than ours yields.
var ErrForeignStorage = errors.New("MetricsQL is evaluated over this server's own store alone, which is not open")

// MetricsQL evaluates a query when it is its turn. The result is to be closed, if it
// is an error too.
func (e *Engine) MetricsQL(ctx context.Context, q Queryable, m MetricsQLQuery) *MetricsQLResult {
	m.Start, m.End, m.Step, m.Lookback = eval.Near(m.Start), eval.Near(m.End), eval.Near(m.Step), eval.Near(m.Lookback)
	run := &metricsQL{engine: e, asked: m, storage: q}
	job := &query{req: Request{Storage: q, Text: m.Text, Start: time.UnixMilli(m.Start), End: time.UnixMilli(m.End)}, run: run}
	if !m.Instant {
		job.req.Step = time.Duration(m.Step) * time.Millisecond
	}
	job.asks(e, QueryOptions{Client: m.Client, Trace: m.Trace})
	run.query = job
	res := job.Exec(ctx)
	out := &run.out
	out.query = job
	if res.Err != nil {
		out.Series, out.Err = nil, res.Err
	}
	return out
}

// metricsQL is the evaluation of one query.
type metricsQL struct {
	engine  *Engine
	query   *query
	asked   MetricsQLQuery
	storage Queryable
	out     MetricsQLResult
}

// Run implements Evaluation. The answer is in out.
func (r *metricsQL) Run(ctx context.Context, t *Trace) *Result {
	m := &r.asked
	err := r.run(ctx, t)
	if err == nil {
		return &Result{}
	}
	if ended := contextError(ctx, "query execution"); ended != nil {
		return &Result{Err: ended}
	}
	if part, ok := eval.Readable(err); ok {
		return &Result{Err: part}
	}
	var told *toldError
	switch {
	case errors.As(err, &told):
	case m.Instant:
		err = fmt.Errorf("error when executing query=%q for (time=%d, step=%d): %w", m.Text, m.Start, m.Step, err)
	default:
		err = rangeError(m.Text, m.Start, m.End, m.Step, err)
	}
	return &Result{Err: err}
}

// toldError is an error that says already which query it is about.
type toldError struct{ error }

func (t *toldError) Unwrap() error { return t.error }

func rangeError(text string, start, end, step int64, err error) error {
	return fmt.Errorf("error when executing query=%q on the time range (start=%d, end=%d, step=%d): %w", text, start, end, step, err)
}

// Close implements Evaluation.
func (*metricsQL) Close() {}

func (r *metricsQL) run(ctx context.Context, t *Trace) error {
	m := &r.asked
	e, err := r.engine.parseMetricsQL(m.Text)
	if !m.Instant {
		return r.ranged(ctx, t, e, err, m.Start, m.End, m.Step)
	}
	if err != nil {
		return err
	}
	if w, ok := e.Expr.(*mql.RollupExpr); ok && w.Window != nil {
		return r.windowed(ctx, t, w)
	}
	answer, err := r.evaluate(ctx, t, e, eval.Scope{Start: m.Start, End: m.Start, Step: m.Step})
	if err != nil {
		return err
	}
	r.out.Kind = MetricsQLVector
	r.take(answer)
	return nil
}

// ranged evaluates a range; err is what came of parsing.
func (r *metricsQL) ranged(ctx context.Context, t *Trace, e *eval.Prepared, err error, start, end, step int64) error {
	if start > end {
		end = start + defaultStep
	}
	if err := eval.ValidatePoints(start, end, step, eval.MaxPoints); err != nil {
		return fmt.Errorf("%w; (see -search.maxPointsPerTimeseries command-line flag)", err)
	}
	if err != nil {
		return err
	}
	if !r.asked.NoCache {
		start, end = eval.Align(start, end, step)
	}
	answer, err := r.evaluate(ctx, t, e, eval.Scope{Start: start, End: end, Step: step})
	if err != nil {
		return err
	}
	r.out.Kind = MetricsQLMatrix
	r.take(answer)
	return nil
}

// defaultStep is the step and the range of a query that names none, milliseconds.
const defaultStep = 5 * 60 * 1000

// windowed answers q[d] at one time: raw samples of a selector, else a range.
func (r *metricsQL) windowed(ctx context.Context, t *Trace, w *mql.RollupExpr) error {
	m := &r.asked
	start, step := m.Start, m.Step
	if selector, ok := w.Expr.(*mql.MetricExpr); ok && w.Step == nil && len(selector.LabelFilterss) > 0 {
		return r.raw(ctx, w, selector)
	}
	own, err := w.Step.NonNegativeDuration(step)
	if err != nil {
		return &toldError{fmt.Errorf("cannot parse step in square brackets at %s: %w", m.Text, err)}
	}
	if own > 0 {
		step = own
	}
	window, err := w.Window.NonNegativeDuration(step)
	if err != nil {
		return &toldError{fmt.Errorf("cannot parse lookbehind window in square brackets at %s: %w", m.Text, err)}
	}
	end := eval.Near(start - eval.Near(w.Offset.Duration(step)))
	window = eval.Near(window)
	err = r.ranged(ctx, t, eval.Prepare(w.Expr), nil, end-window, end, step)
	if _, ok := eval.Readable(err); err != nil && !ok {
		return &toldError{rangeError(string(w.Expr.AppendString(nil)), end-window, end, step, err)}
	}
	return err
}

// raw answers m[d] at one time by the samples as they are stored.
func (r *metricsQL) raw(ctx context.Context, w *mql.RollupExpr, selector *mql.MetricExpr) error {
	m := &r.asked
	window, err := w.Window.NonNegativeDuration(m.Step)
	if err != nil {
		return &toldError{fmt.Errorf("cannot parse lookbehind window in square brackets at %s: %w", m.Text, err)}
	}
	end := eval.Near(m.Start - eval.Near(w.Offset.Duration(m.Step)))
	start := min(end-eval.Near(window)+1, end)
	p, err := r.params(nil, eval.Scope{Start: start, End: end, Step: max(m.Step, 1)})
	if err != nil {
		return err
	}
	all, err := eval.Raw(ctx, selector, p)
	if err != nil {
		return &toldError{fmt.Errorf("error when exporting data for query=%q on the time range (start=%d, end=%d): %w",
			selector.AppendString(nil), start, end, err)}
	}
	r.out.Kind = MetricsQLRaw
	for _, one := range all {
		r.out.Series = append(r.out.Series, MetricsQLSeries{Name: one.Name.Group, Tags: one.Name.Tags, Values: one.Values, Times: one.Times})
	}
	return nil
}

func (r *metricsQL) params(t *Trace, s eval.Scope) (p eval.Params, err error) {
	db := exec.DBOf(r.storage)
	if db == nil {
		return p, ErrForeignStorage
	}
	s.MayCache = !r.asked.NoCache
	return eval.Params{
		DB: db, Scope: s, Lookback: r.asked.Lookback, Filters: r.asked.Filters,
		Meter: r.query.req.Meter, Memory: &r.engine.memoryMetricsQL, Gate: r.engine.gate, Trace: t, Now: time.Now,
	}, nil
}

func (r *metricsQL) evaluate(ctx context.Context, t *Trace, e *eval.Prepared, s eval.Scope) (*eval.Answer, error) {
	p, err := r.params(t, s)
	if err != nil {
		return nil, err
	}
	return eval.Run(ctx, e, p)
}

// take makes the answer the result.
func (r *metricsQL) take(a *eval.Answer) {
	r.out.Start, r.out.Step, r.out.SeriesFetched = a.Grid.Start, a.Grid.Step, a.Fetched
	r.query.samples.TotalSamples += a.Samples
	r.query.samples.UpdatePeak(int(r.query.meter.PeakSamples()))
	r.out.Series = make([]MetricsQLSeries, len(a.Series))
	for i, s := range a.Series {
		round(s.Values, r.asked.RoundDigits)
		r.out.Series[i] = MetricsQLSeries{Name: s.Name.Group, Tags: s.Name.Tags, Values: s.Values}
	}
}

// round rounds values to so many decimal digits. (RoundToDecimalDigits of
// VictoriaMetrics' lib/decimal.)
func round(values []float64, digits int) {
	if digits <= -100 || digits >= 100 {
		return
	}
	m := math.Pow10(digits)
	for i, v := range values {
		values[i] = math.Round(v*m) / m
	}
}

// parseMetricsQL parses a query, unless it was asked before.
func (e *Engine) parseMetricsQL(text string) (*eval.Prepared, error) {
	if err := checkLength(text, e.opts.MaxQueryBytes); err != nil {
		return nil, err
	}
	if x, ok := e.parsedMetricsQL.get(text); ok {
		return x, nil
	}
	x, ok := e.parseByShape(text)
	if !ok {
		var err error
		if x, err = metricsql.Parse(text); err != nil {
			return nil, err
		}
	}
	p := eval.Prepare(x)
	e.parsedMetricsQL.put(text, p, memoCost(text))
	return p, nil
}

// parseByShape is metricsql.Parse of a text that may be like others; ok is false if it
// is not, or wrong.
func (e *Engine) parseByShape(text string) (x mql.Expr, ok bool) {
	shape, values, ok := metricsql.Cut(text)
	if !ok {
		return nil, false
	}
	common, ok := e.shapesMetricsQL.get(shape)
	if !ok {
		var err error
		if common, err = metricsql.Parse(shape); err != nil {
			return nil, false
		}
		e.shapesMetricsQL.put(shape, common, memoCost(shape))
	}
	return metricsql.Fill(common, values)
}

// checkLength bounds a text that is to be parsed, which cannot be broken off.
func checkLength(text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("too long query; got %d bytes; mustn't exceed `--query.max-length=%d` bytes", len(text), most)
	}
	return nil
}

// ParseSelectors parses a selector of MetricsQL, as found in match[] and
// extra_filters[], to sets of matchers: a series is selected by all of one set. It may
// have DefaultMaxQueryBytes.
func ParseSelectors(text string) ([][]*labels.Matcher, error) {
	if err := checkLength(text, DefaultMaxQueryBytes); err != nil {
		return nil, err
	}
	e, err := metricsql.Parse(text)
	if err != nil {
		return nil, err
	}
	m, ok := e.(*mql.MetricExpr)
	if !ok {
		return nil, fmt.Errorf("expecting metricSelector; got %q", e.AppendString(nil))
	}
	if len(m.LabelFilterss) == 0 {
		return nil, errors.New("labelFilterss cannot be empty")
	}
	return eval.Matchers(m)
}

// MetricsQLIsWindow tells whether a query is all of it something with a window, q[d].
// It is false for one that does not parse.
func MetricsQLIsWindow(text string) bool {
	e, err := expandBounded(text)
	w, ok := e.(*mql.RollupExpr)
	return err == nil && ok && w.Window != nil
}

// MetricsQLNames returns the names of metrics that the selectors of a query name, each
// once, sorted; none of one that does not parse.
func MetricsQLNames(text string) (names []string) {
	e, err := expandBounded(text)
	if err != nil {
		return nil
	}
	mql.VisitAll(e, func(e mql.Expr) {
		m, ok := e.(*mql.MetricExpr)
		if !ok {
			return
		}
		for _, set := range m.LabelFilterss {
			for _, f := range set {
				if f.Label == series.NameLabel && !f.IsRegexp && !f.IsNegative {
					names = append(names, f.Value)
				}
			}
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// expandBounded parses a text that is not to be evaluated.
func expandBounded(text string) (mql.Expr, error) {
	if err := checkLength(text, DefaultMaxQueryBytes); err != nil {
		return nil, err
	}
	return metricsql.Expand(text)
}

// maxPretty is the longest text that is laid out: a bracket in it moves all that is
// within, so that the result may have the square of it.
const maxPretty = 16 << 10

// PrettifyMetricsQL lays a query of up to 16 KiB out on several lines.
func PrettifyMetricsQL(text string) (string, error) {
	if len(text) > maxPretty {
		return "", fmt.Errorf("too long query; got %d bytes; no more than %d are laid out", len(text), maxPretty)
	}
	return mql.Prettify(text)
}

// ExpandMetricsQL expands the WITH templates of a query of up to DefaultMaxQueryBytes,
// and puts its filters where they save most.
func ExpandMetricsQL(text string) (string, error) {
	e, err := expandBounded(text)
	if err != nil {
		return "", err
	}
	return string(e.AppendString(nil)), nil
}
