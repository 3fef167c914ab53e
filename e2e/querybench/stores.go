package main

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/varvedb/varve/e2e/corpus"
	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/tsdb"
)

// stores are one of varve and one of Prometheus with the same data.
type stores struct {
	db         *tsdb.DB
	varve      *tsdb.Storage
	prometheus *teststorage.TestStorage

	apps []storage.AppenderV2
	refs map[uint64][2]storage.SeriesRef
}

func openStores(dir string) (*stores, error) {
	db, err := tsdb.Open(dir, tsdb.Options{Sync: tsdb.SyncOff()})
	if err != nil {
		return nil, err
	}
	p, err := teststorage.NewWithError()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	p.DisableCompactions()
	return &stores{db: db, varve: tsdb.NewStorage(db), prometheus: p, refs: map[uint64][2]storage.SeriesRef{}}, nil
}

func (s *stores) close() error { return errors.Join(s.db.Close(), s.prometheus.Close()) }

// begin opens a batch in each store.
func (s *stores) begin() {
	ctx := context.Background()
	s.apps = []storage.AppenderV2{s.varve.AppenderV2(ctx), s.prometheus.AppenderV2(ctx)}
}

// append adds one sample to each; key names the series among all.
func (s *stores) append(key uint64, ls labels.Labels, t int64, v float64, h *histogram.Histogram) error {
	refs := s.refs[key]
	for i, app := range s.apps {
		ref, err := app.Append(refs[i], ls, 0, t, v, h, nil, storage.AOptions{})
		if err != nil {
			return err
		}
		refs[i] = ref
	}
	s.refs[key] = refs
	return nil
}

func (s *stores) commit() error {
	return errors.Join(s.apps[0].Commit(), s.apps[1].Commit())
}

// settle makes blocks of what was appended.
func (s *stores) settle(ctx context.Context) error {
	s.prometheus.ForceHeadMMap()
	return errors.Join(s.prometheus.Compact(ctx), s.db.ForceFlush(ctx), s.db.ForceMerge(ctx))
}

// contender is an engine over a storage.
type contender struct {
	name   string
	engine promql.QueryEngine
	from   storage.Queryable
}

const (
	benchSamples = 50_000_000
	benchTimeout = 100 * time.Second
)

// contendersOver are promqlx, then its rivals.
func contendersOver(s *stores) ([]contender, error) {
	e, err := promqlx.New(promqlx.Options{MaxSamples: benchSamples, Timeout: benchTimeout, EnabledFeatures: []string{"promql-experimental-functions"}})
	if err != nil {
		return nil, err
	}
	upstream := upstreamEngine()
	return []contender{
		{"promqlx", corpus.NewEngine(e), s.varve},
		{"upstream on varve", upstream, s.varve},
		{"upstream on its own", upstream, s.prometheus},
	}, nil
}

func upstreamEngine() promql.QueryEngine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: benchSamples, Timeout: benchTimeout, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		Parser:                   parser.NewParser(parser.Options{EnableExperimentalFunctions: true}),
	})
}
