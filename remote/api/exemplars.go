package api

import (
	"errors"
	"net/http"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql/parser"
)

// queryExemplars returns the exemplars of the series an expression selects.
func (a *API) queryExemplars(r *http.Request) result {
	start, err := parseTimeParam(r, "start", minTime())
	if err != nil {
		return invalidParam(err, "start")
	}
	end, err := parseTimeParam(r, "end", maxTime())
	if err != nil {
		return invalidParam(err, "end")
	}
	if end.Before(start) {
		return badData(errors.New("end timestamp must not be before start timestamp"))
	}
	expr, err := a.opts.Engine.ParseExpr(r.Form.Get("query"))
	if err != nil {
		return badData(err)
	}
	selectors := parser.ExtractSelectors(expr)
	if len(selectors) == 0 {
		return result{}
	}
	q, err := a.opts.Storage.ExemplarQuerier(r.Context())
	if err != nil {
		return result{err: queryError(err)}
	}
	found, err := q.Select(timestamp.FromTime(start), timestamp.FromTime(end), selectors...)
	if err != nil {
		return result{err: queryError(err)}
	}
	return result{data: exemplarData(found)}
}

// exemplarData is the payload of query_exemplars.
type exemplarData []exemplar.QueryResult

func (d exemplarData) writeJSON(s *sink) {
	s.buf = append(s.buf, '[')
	for i, series := range d {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = append(s.buf, `{"seriesLabels":`...)
		s.buf = appendLabels(s.buf, series.SeriesLabels)
		s.buf = append(s.buf, `,"exemplars":[`...)
		for j, e := range series.Exemplars {
			if j > 0 {
				s.buf = append(s.buf, ',')
			}
			s.buf = appendExemplar(s.buf, e)
			s.spill()
		}
		s.buf = append(s.buf, "]}"...)
	}
	s.buf = append(s.buf, ']')
}
