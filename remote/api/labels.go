package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// labelNames lists the label names of the series that match.
func (a *API) labelNames(r *http.Request) result {
	l, apiErr := a.parseLookup(r, badData)
	if apiErr != nil {
		return result{err: apiErr}
	}
	return a.listStrings(r.Context(), l, func(q storage.Querier, hints *storage.LabelHints, set []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(r.Context(), hints, set...)
	})
}

// labelValues lists the values a label has in the series that match. A name
// that begins with U__ is taken for an escaped one.
func (a *API) labelValues(r *http.Request) result {
	name, _ := labelOfPath(r.URL.Path)
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return badData(fmt.Errorf("invalid label name: %q", name))
	}
	l, apiErr := a.parseLookup(r, badData)
	if apiErr != nil {
		return result{err: apiErr}
	}
	return a.listStrings(r.Context(), l, func(q storage.Querier, hints *storage.LabelHints, set []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(r.Context(), name, hints, set...)
	})
}

// listStrings joins what list yields for each matcher set: sorted, each once,
// cut at the limit.
func (a *API) listStrings(ctx context.Context, l lookup, list func(storage.Querier, *storage.LabelHints, []*labels.Matcher) ([]string, annotations.Annotations, error)) (res result) {
	q, err := a.opts.Storage.Querier(l.mint, l.maxt)
	if err != nil {
		return result{err: queryError(err)}
	}
	closeQuerier := func() { _ = q.Close() } // not before the strings are written
	defer func() {
		if res.close == nil { // on a panic
			closeQuerier()
		}
	}()
	sets := l.sets
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	hints := &storage.LabelHints{Limit: hintLimit(l.limit)}
	var all []string
	var warnings annotations.Annotations
	for _, set := range sets {
		if err := ctx.Err(); err != nil {
			return result{err: queryError(err), close: closeQuerier}
		}
		found, w, err := list(q, hints, set)
		if err != nil {
			return result{err: queryError(err), close: closeQuerier}
		}
		warnings.Merge(w)
		all = append(all, found...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if l.limit > 0 && len(all) > l.limit {
		all = all[:l.limit]
		warnings.Add(errTruncated)
	}
	return result{data: stringsData(all), warnings: warnings, close: closeQuerier}
}

// stringsData is the payload of the label endpoints.
type stringsData []string

func (d stringsData) writeJSON(s *sink) {
	s.buf = append(s.buf, '[')
	for i, str := range d {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = appendString(s.buf, str)
		s.spill()
	}
	s.buf = append(s.buf, ']')
}
