package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// checkEvery is how many series pass between two looks at the context.
const checkEvery = 128

// series lists the label sets that match any of the selectors.
func (a *API) series(r *http.Request) (res result) {
	if len(r.Form["match[]"]) == 0 {
		return badData(errors.New("no match[] parameter provided"))
	}
	l, apiErr := a.parseLookup(r, func(err error) result { return invalidParam(err, "match[]") })
	if apiErr != nil {
		return result{err: apiErr}
	}
	q, err := a.opts.Storage.Querier(l.mint, l.maxt)
	if err != nil {
		return result{err: queryError(err)}
	}
	closeQuerier := func() { _ = q.Close() }
	defer func() {
		if res.close == nil { // on a panic
			closeQuerier()
		}
	}()
	set := selectSeries(r.Context(), q, l)
	found := seriesData{}
	for set.Next() {
		if len(found)%checkEvery == checkEvery-1 && r.Context().Err() != nil {
			return result{err: queryError(r.Context().Err()), close: closeQuerier}
		}
		found = append(found, set.At().Labels())
		if l.limit > 0 && len(found) > l.limit {
			warnings := set.Warnings()
			warnings.Add(errTruncated)
			return result{data: found[:l.limit], warnings: warnings, close: closeQuerier}
		}
	}
	if err := set.Err(); err != nil {
		return result{err: queryError(err), close: closeQuerier}
	}
	return result{data: found, warnings: set.Warnings(), close: closeQuerier}
}

// selectSeries yields the series of all matcher sets, each once.
func selectSeries(ctx context.Context, q storage.Querier, l lookup) storage.SeriesSet {
	hints := &storage.SelectHints{
		Start: l.mint,
		End:   l.maxt,
		Func:  "series", // by which a storage knows that no samples are wanted
		Limit: hintLimit(l.limit),
	}
	if len(l.sets) == 1 {
		return q.Select(ctx, false, hints, l.sets[0]...)
	}
	var sets []storage.SeriesSet
	for _, matchers := range l.sets {
		sets = append(sets, q.Select(ctx, true, hints, matchers...)) // sorted, to merge
	}
	return storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
}

// seriesData is the payload of /series.
type seriesData []labels.Labels

func (d seriesData) writeJSON(s *sink) {
	s.buf = append(s.buf, '[')
	for i, lset := range d {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = appendLabels(s.buf, lset)
		s.spill()
	}
	s.buf = append(s.buf, ']')
}
