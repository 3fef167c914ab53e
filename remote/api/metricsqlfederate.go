package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// federateEither serves /federate in the dialect of a request.
func (a *API) federateEither(w http.ResponseWriter, r *http.Request) {
	if err := parseForm(w, r, a.opts.MaxFormBytes); err != nil {
		http.Error(w, fmt.Sprintf("error parsing form values: %s", err), http.StatusBadRequest)
		return
	}
	switch d, err := dialect(r, a.opts.Dialect); {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case d == MetricsQL:
		a.serveVM(w, r, a.vmFederate(r))
	default:
		a.federate(w, r)
	}
}

// vmFederate exports the newest sample in a range of each series that matches, as
// text; by default of the last five minutes.
func (a *API) vmFederate(r *http.Request) vmResult {
	now := a.now()
	l, err := vmhttp.ReadLookup(r, promqlx.ParseSelectors, now, true)
	if err != nil {
		return vmResult{err: err, plainError: true}
	}
	lookback, err := vmhttp.Duration(r.Form, "max_lookback", vmStep)
	if err != nil {
		return vmResult{err: err, plainError: true}
	}
	if l.Start == 0 && timestamp.FromTime(now)-l.End < 1000 { // no range was asked for
		l.Start = l.End - lookback
	}
	samples, err := a.newest(r.Context(), l.Start, l.End, l.Sets)
	if err != nil {
		return vmResult{err: fmt.Errorf("cannot fetch data: %w", err), plainError: true}
	}
	return vmResult{whole: true, contentType: "text/plain; charset=utf-8", body: vmExposition{samples, namesFor(r)}}
}

// vmNames is how names are written that Prometheus' text did not have of old.
type vmNames int

const (
	plainNames      vmNames = iota // as they are, which few can read
	underscoreNames                // with _ for what is new
	quotedNames                    // as the text of Prometheus 3 has them
)

// namesFor tells what the one who asks can read.
func namesFor(r *http.Request) vmNames {
	switch {
	case strings.Contains(r.Header.Get("Accept"), "allow-utf-8"):
		return quotedNames
	case strings.HasPrefix(r.UserAgent(), "Prometheus"):
		return underscoreNames
	}
	return plainNames
}

// vmExposition is a list of samples as text.
type vmExposition struct {
	samples []promql.Sample
	names   vmNames
}

func (d vmExposition) writeJSON(s *sink) {
	for _, sample := range d.samples {
		if sample.H != nil || sample.F != sample.F {
			continue
		}
		s.buf = d.names.appendSeries(s.buf, sample.Metric)
		s.buf = vmhttp.AppendNumber(append(s.buf, ' '), sample.F)
		s.buf = strconv.AppendInt(append(s.buf, ' '), sample.T, 10)
		s.buf = append(s.buf, '\n')
		s.spill()
	}
}

func (n vmNames) appendSeries(dst []byte, lset labels.Labels) []byte {
	name := lset.Get(labels.MetricName)
	separator := byte('{')
	if n == quotedNames {
		dst = appendQuoted(append(dst, separator), name)
		separator = ','
	} else {
		dst = append(dst, n.name(name, true)...)
	}
	lset.Range(func(l labels.Label) {
		if l.Name == labels.MetricName {
			return
		}
		dst = append(dst, separator)
		separator = ','
		if n == quotedNames {
			dst = appendQuoted(dst, l.Name)
		} else {
			dst = append(dst, n.name(l.Name, false)...)
		}
		dst = appendQuoted(append(dst, '='), l.Value)
	})
	if separator == ',' {
		dst = append(dst, '}')
	}
	return dst
}

// name returns a name as it is written without quotes. Colons are for metrics.
func (n vmNames) name(s string, metric bool) string {
	if n != underscoreNames {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || metric && r == ':' {
			return r
		}
		return '_'
	}, s)
}

// appendQuoted appends a text in quotes, as Prometheus' text has label values.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '\n':
			dst = append(dst, `\n`...)
		case '"', '\\':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
