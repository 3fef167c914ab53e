package promqlx

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"
)

// planner is an Evaluator of queries that are only prepared.
type planner func(ctx context.Context, r *Request) error

func (p planner) Prepare(ctx context.Context, r *Request) (Evaluation, error) {
	if err := p(ctx, r); err != nil {
		return nil, err
	}
	return &scriptedEvaluation{s: &scripted{run: func(ctx context.Context, _ *Request, _ *Trace) *Result {
		<-ctx.Done()
		return &Result{Err: contextError(ctx, "here")}
	}}}, nil
}

func plannerEngine(t *testing.T, opts Options, p planner) *Engine {
	t.Helper()
	e := newEngine(t, opts)
	e.evaluator = p
	return e
}

// long is prepared apart even when it is known.
var long = "a" + strings.Repeat(" ", knownBytes)

func prepareLong(ctx context.Context, e *Engine) (Query, error) {
	return e.Instant(ctx, nil, long, QueryOptions{}, time.Unix(1, 0))
}

// No more long texts are prepared at once than there are slots, though who asked
// for them is gone.
func TestPrepareTakesSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at, most atomic.Int64
		e := plannerEngine(t, Options{MaxConcurrent: 3}, func(context.Context, *Request) error {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			time.Sleep(time.Second) // and does not care for its context
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		ask := func() {
			_, err := prepareLong(ctx, e)
			require.Truef(t, err == promql.ErrQueryCanceled("query queue") || err == promql.ErrQueryCanceled("query preparation"), "%v", err)
		}
		for range 20 {
			wg.Go(ask)
		}
		synctest.Wait()
		require.EqualValues(t, 3, at.Load())
		require.Len(t, e.ActiveQueries(), 20)
		start := time.Now()
		cancel()
		wg.Wait()
		require.Zero(t, time.Since(start), "who asked is told at once")
		require.EqualValues(t, 3, at.Load())
		require.Len(t, e.ActiveQueries(), 3)
		require.True(t, e.ActiveQueries()[0].Running)

		q, err := prepareLong(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(start), "as soon as those before are done")
		require.EqualValues(t, 3, most.Load())
		require.Empty(t, e.ActiveQueries())
		require.Empty(t, e.slots)
		q.Close()
	})
}

// The timeout is that of preparing, waiting and running together.
func TestPrepareTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took atomic.Int64
		took.Store(int64(time.Hour))
		e := plannerEngine(t, Options{Timeout: time.Minute, MaxConcurrent: 1}, func(context.Context, *Request) error {
			time.Sleep(time.Duration(took.Load()))
			return nil
		})
		start := time.Now()
		_, err := prepareLong(t.Context(), e)
		require.Equal(t, promql.ErrQueryTimeout("query preparation"), err)
		require.Equal(t, time.Minute, time.Since(start))
		_, err = prepareLong(t.Context(), e)
		require.Equal(t, promql.ErrQueryTimeout("query queue"), err)
		require.Equal(t, 2*time.Minute, time.Since(start))
		time.Sleep(time.Hour)

		took.Store(int64(40 * time.Second))
		start = time.Now()
		q, err := prepareLong(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, promql.ErrQueryTimeout("here"), q.Exec(t.Context()).Err)
		require.Equal(t, time.Minute, time.Since(start))
		q.Close()

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		start = time.Now()
		_, err = prepareLong(gone, e)
		require.Equal(t, promql.ErrQueryCanceled("query preparation"), err)
		synctest.Wait()
		require.Zero(t, time.Since(start))
		require.Empty(t, e.slots, "nothing was begun")
	})
}

// Errors of a long text are those of a short one; a panic costs its query alone.
func TestPrepareFails(t *testing.T) {
	var logged strings.Builder
	e := plannerEngine(t, Options{MaxConcurrent: 1, Logger: slog.New(slog.NewTextHandler(&logged, nil))}, func(_ context.Context, r *Request) error {
		if strings.HasPrefix(r.Text, "b") {
			panic("boom")
		}
		return errors.New("no plan")
	})
	f := func(text string) string {
		_, err := e.Range(t.Context(), nil, text, QueryOptions{}, time.Unix(1, 0), time.Unix(1, 0), time.Second)
		require.Error(t, err)
		return err.Error()
	}
	for _, text := range []string{"a", "a ? b", `"text"`} {
		require.Equal(t, f(text), f(text+strings.Repeat(" ", quickBytes)))
	}
	_, err := prepareLong(t.Context(), e)
	require.EqualError(t, err, "no plan")
	_, err = e.Instant(t.Context(), nil, "b"+long, QueryOptions{}, time.Unix(1, 0))
	require.EqualError(t, err, "unexpected error: boom")
	require.Contains(t, logged.String(), "boom")
	require.Empty(t, e.slots)
	require.Empty(t, e.ActiveQueries())
}

// A text that takes long is given up at once when nobody waits for it.
func TestPrepareOfNastyText(t *testing.T) {
	e := newEngine(t, Options{MaxConcurrent: 2})
	text := `{a=~"` + strings.Repeat(`((ab?){30}|x){33}`, 200) + `"}`
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := e.Instant(ctx, newNoData(nil), text, QueryOptions{}, time.Unix(1, 0))
	require.Equal(t, promql.ErrQueryCanceled("query preparation"), err)
	require.Len(t, e.slots, 1, "it is given up before it is parsed, which goes on")
	require.Eventually(t, func() bool { return len(e.slots) == 0 }, time.Minute, 10*time.Millisecond)
}

// What was parsed before needs no slot to be planned, unless it is very long.
func TestPrepareOfKnownText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := plannerEngine(t, Options{MaxConcurrent: 1}, func(context.Context, *Request) error { return nil })
		ask := func(ctx context.Context, text string) error {
			q, err := e.Instant(ctx, nil, text, QueryOptions{}, time.Unix(1, 0))
			if err == nil {
				q.Close()
			}
			return err
		}
		middling := long[:knownBytes]
		require.NoError(t, ask(t.Context(), middling))
		require.NoError(t, ask(t.Context(), long))
		require.NoError(t, e.slots.take(t.Context()))
		defer e.slots.free()
		for text, want := range map[string]error{
			long[:quickBytes]:         nil,
			middling:                  nil,
			long[:quickBytes+1]:       promql.ErrQueryTimeout("query queue"),
			long:                      promql.ErrQueryTimeout("query queue"),
			"b" + long[:knownBytes-1]: promql.ErrQueryTimeout("query queue"),
		} {
			require.Equal(t, want, ask(t.Context(), text), len(text))
		}
	})
}
