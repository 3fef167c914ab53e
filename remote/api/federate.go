package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/varvedb/varve/remote/internal/status"
)

// federate answers a request whose form has been parsed: it exports the newest sample of each series that matches and is not
// stale, in the exposition format asked for.
func (a *API) federate(w http.ResponseWriter, r *http.Request) {
	sets, err := a.opts.Engine.ParseMetricSelectors(r.Form["match[]"])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	now := a.now()
	samples, err := a.newest(r.Context(), timestamp.FromTime(now.Add(-a.opts.LookbackDelta)), timestamp.FromTime(now), sets)
	if err != nil {
		status.Write(w, err)
		return
	}
	slices.SortStableFunc(samples, func(a, b promql.Sample) int {
		return strings.Compare(a.Metric.Get(labels.MetricName), b.Metric.Get(labels.MetricName))
	})
	format := expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeProtoDelim), expfmt.NewFormat(expfmt.TypeProtoText),
		expfmt.NewFormat(expfmt.TypeProtoCompact), expfmt.NewFormat(expfmt.TypeTextPlain))
	w.Header().Set("Content-Type", string(format))
	f := newFederation(expfmt.NewEncoder(w, format), format, a.opts.ExternalLabels)
	for _, s := range samples {
		if err := f.add(s); err != nil {
			a.opts.OnError(r, fmt.Errorf("write federation: %w", err))
			return
		}
	}
	if err := f.flush(); err != nil {
		a.opts.OnError(r, fmt.Errorf("write federation: %w", err))
	}
}

// newest returns the last sample in [mint, maxt] of every series that matches any of
// the sets, in label order. Stale series are left out, since the formats have no
// word for them.
func (a *API) newest(ctx context.Context, mint, maxt int64, sets [][]*labels.Matcher) ([]promql.Sample, error) {
	q, err := a.opts.Storage.Querier(mint, maxt)
	if err != nil {
		return nil, fmt.Errorf("open querier: %w", err)
	}
	defer q.Close()
	hints := &storage.SelectHints{Start: mint, End: maxt}
	var selected []storage.SeriesSet
	for _, set := range sets {
		selected = append(selected, q.Select(ctx, true, hints, set...))
	}
	set := storage.NewMergeSeriesSet(selected, 0, storage.ChainedSeriesMerge)
	var samples []promql.Sample
	var it chunkenc.Iterator
	for set.Next() {
		series := set.At()
		it = series.Iterator(it)
		s, ok := lastSample(it, mint, maxt)
		if err := it.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", series.Labels(), err)
		}
		if !ok || value.IsStaleNaN(s.F) || (s.H != nil && value.IsStaleNaN(s.H.Sum)) {
			continue
		}
		s.Metric = series.Labels().Copy() // the querier is closed before it is written
		samples = append(samples, s)
	}
	return samples, set.Err()
}

// lastSample returns the last sample in [mint, maxt].
func lastSample(it chunkenc.Iterator, mint, maxt int64) (s promql.Sample, ok bool) {
	for typ := it.Seek(mint); typ != chunkenc.ValNone; typ = it.Next() {
		if it.AtT() > maxt {
			break
		}
		ok = true
		switch typ {
		case chunkenc.ValFloat:
			s = promql.Sample{}
			s.T, s.F = it.At()
		default:
			t, h := it.AtFloatHistogram(nil)
			s = promql.Sample{T: t, H: h}
		}
	}
	return s, ok
}
