package promqlx

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve/promqlx/internal/cache"
	"github.com/varvedb/varve/promqlx/internal/exec"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// newCache returns the cache of range queries and registers its metrics, or nil
// if there is to be none.
func newCache(opts Options) *cache.Cache {
	if opts.CacheBytes <= 0 {
		return nil
	}
	c := cache.New(cache.Options{Bytes: opts.CacheBytes})
	if opts.Registerer == nil {
		return c
	}
	const prefix = "varve_query_cache_"
	counter := func(name, help string, value func(cache.Stats) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: prefix + name, Help: help}, func() float64 { return float64(value(c.Stats())) })
	}
	gauge := func(name, help string, value func(cache.Stats) int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + name, Help: help}, func() float64 { return float64(value(c.Stats())) })
	}
	opts.Registerer.MustRegister(
		counter("hits_total", "Stretches of answers that were kept from earlier queries.", func(s cache.Stats) int64 { return s.Hits }),
		counter("misses_total", "Stretches of answers that were evaluated, and may be kept.", func(s cache.Stats) int64 { return s.Misses }),
		counter("evictions_total", "Stretches of answers that made room for others.", func(s cache.Stats) int64 { return s.Evictions }),
		gauge("entries", "Stretches of answers that are kept.", func(s cache.Stats) int64 { return s.Entries }),
		gauge("bytes", "Memory of the answers that are kept.", func(s cache.Stats) int64 { return s.Bytes }),
		gauge("max_bytes", "Memory that answers may be kept in.", func(cache.Stats) int64 { return opts.CacheBytes }),
	)
	return c
}

// keeps tells whether answers of this query may be taken from the cache, as far as
// the plan does not matter. Counts by step are not kept; nor is anything where names
// go late: which row loses its name can hang on the range then.
func (e *evaluation) keeps() bool {
	return e.own.cache != nil && exec.DBOf(e.req.Storage) != nil && e.req.Step >= time.Millisecond && !e.req.NoCache &&
		!e.own.set[featDelayedNameRemoval] && !e.req.Stats.Samples.StepTrackingEnabled()
}

// cached returns the query as the cache takes it, nil if it is to be evaluated.
//
// Samples in the statistics are those that are read for this query: none for what is
// kept. Who asks for statistics wants QueryOptions.NoCache.
func (e *evaluation) cached(t *Trace) *cache.Query {
	r := e.req
	g, db := e.grid(), exec.DBOf(r.Storage)
	if e.key == "" || db == nil || g.N < 2 {
		return nil
	}
	if why := cache.Why(e.plan, g.Step); why != "" {
		t.Printf("cache: not for this query: %s", why)
		return nil
	}
	return &cache.Query{
		Store: db, Plan: e.plan, Grid: g, Lookback: r.Lookback.Milliseconds(), Now: e.own.now(),
		Key: fmt.Sprint(r.Lookback.Milliseconds(), r.StartTimestamps, e.own.set[featTypeAndUnitLabels], " ", e.key),
		Run: func(ctx context.Context, g row.Grid) (cache.Answer, error) {
			e.hints = new(atomic.Bool)
			v, annos, err := e.evaluate(ctx, g, t)
			e.meter = begun{r.Meter}
			m, _ := v.(promql.Matrix)
			return cache.Answer{Matrix: m, Annotations: annos, Whole: e.hints.Load()}, err
		},
		Read:  func() int64 { return r.Stats.Samples.SamplesRead },
		Meter: r.Meter, Trace: t,
	}
}

// begun is the meter of a query that holds something already, and so waits no more.
type begun struct{ *Meter }

func (begun) Expect(context.Context, int64) error { return nil }
