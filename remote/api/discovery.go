package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// There is no scraper, no rule and no notifier. The endpoints about them check
// their parameters and answer that there are none, as Prometheus would.

func (a *API) scrapePools(*http.Request) result {
	return result{data: rawJSON(`{"scrapePools":[]}`)}
}

func (a *API) scrapePoolConfig(r *http.Request) result {
	pool := r.Form.Get("scrapePool")
	if pool == "" {
		return badData(errors.New("no scrapePool parameter provided"))
	}
	return badData(fmt.Errorf("error retrieving scrape config: %w", noScrapePool(pool)))
}

func noScrapePool(pool string) error { return fmt.Errorf("scrape pool %q not found", pool) }

func (a *API) targets(r *http.Request) result {
	counts := "null"
	switch strings.ToLower(r.URL.Query().Get("state")) {
	case "", "any", "dropped":
		counts = "{}"
	}
	return result{data: rawJSON(`{"activeTargets":[],"droppedTargets":[],"droppedTargetCounts":` + counts + `}`)}
}

func (a *API) targetMetadata(r *http.Request) result {
	if s := r.Form.Get("limit"); s != "" {
		if _, err := strconv.Atoi(s); err != nil {
			return badData(errors.New("limit must be a number"))
		}
	}
	if s := r.Form.Get("match_target"); s != "" {
		if _, err := a.opts.Engine.ParseMetricSelector(s); err != nil {
			return invalidParam(err, "match_target")
		}
	}
	return result{data: rawJSON(`[]`)}
}

func (a *API) targetRelabelSteps(r *http.Request) result {
	pool := r.Form.Get("scrapePool")
	if pool == "" {
		return badData(errors.New("no scrapePool parameter provided"))
	}
	lset := r.Form.Get("labels")
	if lset == "" {
		return badData(errors.New("no labels parameter provided"))
	}
	var parsed labels.Labels
	if err := json.Unmarshal([]byte(lset), &parsed); err != nil {
		return badData(fmt.Errorf("error parsing labels: %w", err))
	}
	return badData(fmt.Errorf("error retrieving scrape config: %w", noScrapePool(pool)))
}

func (a *API) rules(r *http.Request) result {
	if _, err := a.parseMatchers(r.Form["match[]"]); err != nil {
		return badData(err)
	}
	query := r.URL.Query()
	switch typ := strings.ToLower(query.Get("type")); typ {
	case "", "alert", "record":
	default:
		return invalidParam(fmt.Errorf("not supported value %q", typ), "type")
	}
	if s := strings.ToLower(query.Get("exclude_alerts")); s != "" {
		if _, err := strconv.ParseBool(s); err != nil {
			return invalidParam(fmt.Errorf("error converting exclude_alerts: %w", err), "exclude_alerts")
		}
	}
	limit, token := query.Get("group_limit"), query.Get("group_next_token")
	switch {
	case token != "" && limit == "":
		return invalidParam(errors.New("group_limit needs to be present in order to paginate over the groups"), "group_next_token")
	case limit != "":
		n, err := strconv.ParseInt(limit, 10, 32)
		if err != nil {
			return invalidParam(fmt.Errorf("group_limit needs to be a valid number: %w", err), "group_limit")
		}
		if n <= 0 {
			return invalidParam(errors.New("group_limit needs to be greater than 0"), "group_limit")
		}
	}
	if token != "" {
		return invalidParam(fmt.Errorf("invalid group_next_token '%v'. were rule groups changed?", token), "group_next_token")
	}
	return result{data: rawJSON(`{"groups":[]}`)}
}

func (a *API) alerts(*http.Request) result {
	return result{data: rawJSON(`{"alerts":[]}`)}
}

func (a *API) alertmanagers(*http.Request) result {
	return result{data: rawJSON(`{"activeAlertmanagers":[],"droppedAlertmanagers":[]}`)}
}

func (a *API) notifications(*http.Request) result {
	return result{data: rawJSON(`[]`)}
}

// notificationsLive answers 204, by which clients know to poll instead.
func (a *API) notificationsLive(*http.Request) result { return result{} }
