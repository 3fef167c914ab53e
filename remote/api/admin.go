package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"

	"github.com/varvedb/varve/remote/internal/status"
)

func (a *API) adminDisabled() *apiError {
	if a.opts.EnableAdminAPI {
		return nil
	}
	return &apiError{kindUnavailable, errors.New("admin APIs disabled")}
}

// deleteSeries deletes the samples of a range in the series that match. All
// selectors are parsed before the first delete.
func (a *API) deleteSeries(r *http.Request) result {
	if err := a.adminDisabled(); err != nil {
		return result{err: err}
	}
	if len(r.Form["match[]"]) == 0 {
		return badData(errors.New("no match[] parameter provided"))
	}
	start, err := parseTimeParam(r, "start", minTime())
	if err != nil {
		return invalidParam(err, "start")
	}
	end, err := parseTimeParam(r, "end", maxTime())
	if err != nil {
		return invalidParam(err, "end")
	}
	var sets [][]*labels.Matcher
	for _, s := range r.Form["match[]"] {
		matchers, err := a.opts.Engine.ParseMetricSelector(s)
		if err != nil {
			return invalidParam(err, "match[]")
		}
		sets = append(sets, matchers)
	}
	for _, matchers := range sets {
		if err := a.opts.Admin.Delete(r.Context(), timestamp.FromTime(start), timestamp.FromTime(end), matchers...); err != nil {
			return internal(err)
		}
	}
	return result{}
}

// snapshot makes a snapshot of everything acknowledged. The parameter skip_head
// is checked and has no effect: a snapshot is whole.
func (a *API) snapshot(r *http.Request) result {
	if err := a.adminDisabled(); err != nil {
		return result{err: err}
	}
	if s := r.Form.Get("skip_head"); s != "" {
		if _, err := strconv.ParseBool(s); err != nil {
			return invalidParam(fmt.Errorf("unable to parse boolean: %w", err), "skip_head")
		}
	}
	name, err := a.opts.Admin.Snapshot(r.Context())
	if err != nil {
		return internal(fmt.Errorf("create snapshot: %w", err))
	}
	return answer(map[string]string{"name": name})
}

// cleanTombstones removes deleted samples from disk.
func (a *API) cleanTombstones(r *http.Request) result {
	if err := a.adminDisabled(); err != nil {
		return result{err: err}
	}
	if err := a.opts.Admin.CleanTombstones(r.Context()); err != nil {
		return internal(err)
	}
	return result{}
}

// forceFlush writes what is in memory into parts, then answers.
func (a *API) forceFlush(w http.ResponseWriter, r *http.Request) {
	if err := a.opts.Admin.ForceFlush(r.Context()); err != nil {
		status.Write(w, fmt.Errorf("force flush: %w", err))
	}
}

// forceMerge merges parts as far as they may be merged, then answers.
func (a *API) forceMerge(w http.ResponseWriter, r *http.Request) {
	if err := a.opts.Admin.ForceMerge(r.Context()); err != nil {
		status.Write(w, fmt.Errorf("force merge: %w", err))
	}
}
