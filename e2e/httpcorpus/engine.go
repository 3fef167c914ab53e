package httpcorpus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/e2e/harness"
)

// engine asks both servers each query of the acceptance tests, compares their
// answers and counts. The answer is an error where they differ.
type engine struct {
	tb testing.TB

	mu     sync.Mutex
	asked  map[string]int // by the text of the query
	equal  int            // answers that are the same, byte by byte
	moved  int            // that have the same samples of a vector in another order
	chance int            // that were the same when Prometheus was asked anew
}

func newEngine(tb testing.TB) *engine { return &engine{tb: tb, asked: map[string]int{}} }

// NewInstantQuery asks for one time.
func (e *engine) NewInstantQuery(_ context.Context, q storage.Queryable, _ promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	return e.query(q, text, "/api/v1/query", "time", seconds(at.UnixMilli())), nil
}

// NewRangeQuery asks for start, start+step, ... up to end.
func (e *engine) NewRangeQuery(_ context.Context, q storage.Queryable, _ promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	return e.query(q, text, "/api/v1/query_range",
		"start", seconds(start.UnixMilli()), "end", seconds(end.UnixMilli()), "step", seconds(step.Milliseconds())), nil
}

func (e *engine) query(q storage.Queryable, text, path string, form ...string) *query {
	return &query{engine: e, store: q.(*Storage), text: text, path: path, form: harness.Form(append(form, "query", text)...)}
}

// seconds writes milliseconds as the API takes them, without rounding.
func seconds(ms int64) string {
	sign := ""
	if ms < 0 {
		sign, ms = "-", -ms
	}
	return fmt.Sprintf("%s%d.%03d", sign, ms/1000, ms%1000)
}

// executed counts of the given evals those that were asked; a text that is n
// times among them counts n times only if it was asked so often.
func (e *engine) executed(evals []string) int {
	want := map[string]int{}
	for _, text := range evals {
		want[text]++
	}
	n := 0
	for text, times := range want {
		n += min(times, e.asked[text])
	}
	return n
}

// query is one query put to both servers.
type query struct {
	engine *engine
	store  *Storage
	text   string
	path   string
	form   url.Values
	kept   []promql.Query // whose memory the result is in
}

// askings is how often Prometheus is asked anew before its answer counts as another
// one: over a range it adds up in the order of a Go map, so that the last digits
// of a sum, and which of equal values is taken, change from one asking to the
// next.
const askings = 50

// Exec asks both and returns Prometheus' result, in the order of varve's.
func (q *query) Exec(context.Context) *promql.Result {
	q.store.settle(q.engine.tb)
	ours, err := q.askVarve()
	if err != nil {
		return &promql.Result{Err: fmt.Errorf("ask varve: %w", err)}
	}
	for i := 0; ; i++ {
		theirs, res := q.askPrometheus()
		how, err := compare(ours, theirs, res)
		if how == permuted && !anyOrder(q.text) {
			err = fmt.Errorf("the vector is in another order: got %s, want %s", ours.body, theirs.body)
		}
		if err == nil {
			q.engine.count(q.text, how, i)
			return res
		}
		if i == askings {
			q.engine.count(q.text, different, i)
			return &promql.Result{Err: fmt.Errorf("%s %s: %w", q.path, q.form.Encode(), err)}
		}
	}
}

// anyOrder tells whether Prometheus has the vector of a query in the order of a
// Go map whose elements are too many for a second asking to be likely to help:
// that of count_values.
func anyOrder(text string) bool { return strings.Contains(text, "count_values") }

func (e *engine) count(text string, how sameness, again int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked[text]++
	switch {
	case how == different:
	case how == permuted:
		e.moved++
	case again > 0:
		e.chance++
	default:
		e.equal++
	}
}

func (q *query) askVarve() (answer, error) {
	resp, err := q.store.varve.Send(http.MethodPost, q.path, strings.NewReader(q.form.Encode()), "Content-Type", "application/x-www-form-urlencoded")
	return answer{resp.Status, resp.Body}, err
}

// askPrometheus returns the answer of Prometheus' API and the value it is made
// of, or what was wrong.
func (q *query) askPrometheus() (answer, *promql.Result) {
	req := httptest.NewRequest(http.MethodPost, q.path, strings.NewReader(q.form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	q.store.keep.last, q.store.keep.res = nil, nil
	q.store.upstream.ServeHTTP(w, req)
	if last := q.store.keep.last; last != nil {
		q.kept = append(q.kept, last)
	}
	a := answer{w.Code, w.Body.Bytes()}
	if q.store.keep.res == nil {
		return a, &promql.Result{Err: errors.New("the API did not ask its engine, and answered " + strconv.Itoa(w.Code) + " " + w.Body.String())}
	}
	return a, q.store.keep.res
}

// Close gives the memory of the result back.
func (q *query) Close() {
	for _, k := range q.kept {
		k.Close()
	}
}

func (q *query) Statement() parser.Statement { panic("BUG: the corpus asks for no statement") }

func (q *query) Stats() *stats.Statistics { panic("BUG: the corpus asks for no statistics") }

func (q *query) Cancel() { panic("BUG: the corpus cancels nothing") }

func (q *query) String() string { return q.text }

// keeper is Prometheus' engine behind its API. It keeps the last query and its
// result, which the API would give back as soon as it has answered.
type keeper struct {
	*promql.Engine
	last promql.Query
	res  *promql.Result
}

// NewInstantQuery implements promql.QueryEngine.
func (k *keeper) NewInstantQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	return k.hold(k.Engine.NewInstantQuery(ctx, q, opts, text, at))
}

// NewRangeQuery implements promql.QueryEngine.
func (k *keeper) NewRangeQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	return k.hold(k.Engine.NewRangeQuery(ctx, q, opts, text, start, end, step))
}

func (k *keeper) hold(q promql.Query, err error) (promql.Query, error) {
	if err != nil {
		k.res = &promql.Result{Err: err}
		return nil, err
	}
	k.last = q
	return held{q, k}, nil
}

// held is a query of which the API cannot give the memory back.
type held struct {
	promql.Query
	keeper *keeper
}

func (h held) Exec(ctx context.Context) *promql.Result {
	h.keeper.res = h.Query.Exec(ctx)
	return h.keeper.res
}

func (held) Close() {}
