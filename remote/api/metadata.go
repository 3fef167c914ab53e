package api

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/metadata"
)

// metadata returns type, help and unit of metric families, in the order of
// their names up to the limit.
func (a *API) metadata(r *http.Request) result {
	limit, perMetric := -1, -1
	var err error
	if s := r.Form.Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil {
			return badData(errors.New("limit must be a number"))
		}
	}
	if s := r.Form.Get("limit_per_metric"); s != "" {
		if perMetric, err = strconv.Atoi(s); err != nil {
			return badData(errors.New("limit_per_metric must be a number"))
		}
	}
	found := map[string][]metadata.Metadata{}
	if limit == 0 {
		return answer(found)
	}
	all := a.opts.Metadata.Metadata(r.Form.Get("metric"), max(limit, 0))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if limit > 0 && len(found) >= limit {
			break
		}
		list := all[name]
		if perMetric > 0 && len(list) > perMetric {
			list = list[:perMetric]
		}
		found[name] = append([]metadata.Metadata{}, list...)
	}
	return answer(found)
}
