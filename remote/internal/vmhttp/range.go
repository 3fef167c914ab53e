package vmhttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// ParseSelector reads a selector of MetricsQL: a series matches if it matches all
// matchers of one of the sets.
type ParseSelector func(text string) ([][]*labels.Matcher, error)

// Lookup is what the endpoints about series have in common.
type Lookup struct {
	// Start and End are inclusive milliseconds. Start is 0 if it was not asked for.
	Start, End int64
	// Sets are what is asked for, one of which a series has to match; nil asks for all.
	Sets [][]*labels.Matcher
}

// ReadLookup reads start, end, match[] and match, extra_label and extra_filters[].
// A range without an end goes up to now, one that ends before it starts is one time.
func ReadLookup(r *http.Request, parse ParseSelector, now time.Time, needsMatch bool) (l Lookup, err error) {
	if l.Start, err = Time(r.Form, "start", 0, now); err != nil {
		return l, err
	}
	if l.End, err = Time(r.Form, "end", now.UnixMilli(), now); err != nil {
		return l, err
	}
	l.End = max(l.End, l.Start)
	matches := slices.Concat(r.Form["match[]"], r.Form["match"])
	if needsMatch && len(matches) == 0 {
		return l, errors.New("missing `match[]` arg")
	}
	for _, text := range matches {
		sets, err := parse(text)
		if err != nil {
			return l, fmt.Errorf("cannot parse matches[]=%s: %w", text, err)
		}
		l.Sets = append(l.Sets, sets...)
	}
	extra, err := ExtraFilters(r, parse)
	if err != nil {
		return l, err
	}
	l.Sets, err = narrow(l.Sets, extra)
	return l, err
}

// ExtraFilters reads extra_label=name=value and extra_filters[]={...}: sets of
// matchers of which every selector of a request has to match one too; nil if there
// are none. An argument of the URL hides those of that name in the body, so that a
// proxy can enforce them.
func ExtraFilters(r *http.Request, parse ParseSelector) ([][]*labels.Matcher, error) {
	if !slices.ContainsFunc([]string{"extra_label", "extra_filters", "extra_filters[]"}, r.Form.Has) {
		return nil, nil // without parsing the URL once more
	}
	inURL := r.URL.Query()
	args := func(name string) []string {
		if v, ok := inURL[name]; ok {
			return v
		}
		return r.Form[name]
	}
	var fixed []*labels.Matcher
	for _, arg := range args("extra_label") {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, fmt.Errorf("`extra_label` query arg must have the format `name=value`; got %q", arg)
		}
		fixed = append(fixed, labels.MustNewMatcher(labels.MatchEqual, name, value))
	}
	filters := slices.Concat(args("extra_filters"), args("extra_filters[]"))
	if len(filters) == 0 {
		if len(fixed) == 0 {
			return nil, nil
		}
		return [][]*labels.Matcher{fixed}, nil
	}
	var all [][]*labels.Matcher
	for _, text := range filters {
		sets, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("cannot parse extra_filters=%s: %w", text, err)
		}
		for _, set := range sets {
			all = append(all, slices.Concat(set, fixed))
		}
	}
	return all, nil
}

// maxSets is how many sets of matchers a request may come to.
const maxSets = 10_000

// narrow returns the sets that match what one of each side matches.
func narrow(sets, extra [][]*labels.Matcher) ([][]*labels.Matcher, error) {
	if len(sets) == 0 {
		return extra, nil
	}
	if len(extra) == 0 {
		return sets, nil
	}
	if n := len(sets) * len(extra); n > maxSets {
		return nil, fmt.Errorf("too many filters: %d of match[] by %d of extra_filters[]; the maximum number is %d", len(sets), len(extra), maxSets)
	}
	var out [][]*labels.Matcher
	for _, set := range sets {
		for _, e := range extra {
			out = append(out, slices.Concat(set, e))
		}
	}
	return out, nil
}
