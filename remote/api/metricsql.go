package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/status"
	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// Dialect is a query language, and how requests and answers around it look.
type Dialect string

// The dialects.
const (
	PromQL    Dialect = "promql"    // all is as in Prometheus
	MetricsQL Dialect = "metricsql" // all is as in VictoriaMetrics
)

// metricsQLPrefix is where every endpoint speaks MetricsQL.
const metricsQLPrefix = "/metricsql"

// dialectKey is the key in a request's context of the Dialect its path asks for.
type dialectKey struct{}

// inMetricsQL lets h serve the requests below metricsQLPrefix, which it cuts off
// together with what stands before it.
func inMetricsQL(prefix string, h http.Handler) http.Handler {
	prefix += metricsQLPrefix
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), dialectKey{}, MetricsQL))
		u := *r.URL
		if u.RawPath != "" && !strings.HasPrefix(u.RawPath, prefix) {
			http.NotFound(w, r)
			return
		}
		r.URL = &u
		u.Path, u.RawPath = strings.TrimPrefix(u.Path, prefix), strings.TrimPrefix(u.RawPath, prefix)
		h.ServeHTTP(w, r)
	})
}

// dialect is the one that the argument dialect names, else the path, else another.
func dialect(r *http.Request, other Dialect) (Dialect, error) {
	switch d := Dialect(r.Form.Get("dialect")); d {
	case PromQL, MetricsQL:
		return d, nil
	case "":
	default:
		return "", fmt.Errorf("a dialect is %s or %s, got %q", PromQL, MetricsQL, d)
	}
	if d, ok := r.Context().Value(dialectKey{}).(Dialect); ok {
		return d, nil
	}
	return other, nil
}

// vmHandler answers a request whose form has been parsed as VictoriaMetrics does.
type vmHandler func(r *http.Request) vmResult

// vmResult is what a vmHandler found: body, or err.
type vmResult struct {
	// body is what follows {"status":"success", in the answer, up to its last brace;
	// if whole is set it is all of the answer.
	body  payload
	whole bool
	// contentType is that of a whole body; "" means JSON.
	contentType string
	err         error
	plainError  bool           // err is told as plain text, with 400 where it is the client's fault
	close       func()         // gives back what body stands on; may be nil
	trace       *promqlx.Trace // is added to the answer unless nil
}

func vmError(err error) vmResult { return vmResult{err: err} }

// inDialects makes an http.Handler of the handlers of both dialects, for one of them
// where the request does not say.
func (a *API) inDialects(promQL handler, metricsQL vmHandler, other Dialect) http.Handler {
	return a.formed(func(w http.ResponseWriter, r *http.Request) {
		switch d, err := dialect(r, other); {
		case err != nil:
			a.respondError(w, r, invalidParam(err, "dialect").err)
		case d == MetricsQL:
			a.serveVM(w, r, metricsQL(r))
		default:
			a.serve(w, r, promQL(r))
		}
	})
}

// onlyVM makes an http.Handler of one that is the same in both dialects.
func (a *API) onlyVM(f vmHandler) http.Handler {
	return a.formed(func(w http.ResponseWriter, r *http.Request) { a.serveVM(w, r, f(r)) })
}

func (a *API) serveVM(w http.ResponseWriter, r *http.Request, res vmResult) {
	if res.close != nil {
		defer res.close()
	}
	if res.err != nil {
		a.respondVMError(w, r, res)
		return
	}
	contentType := res.contentType
	if contentType == "" {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	s := a.sinks.get(w)
	defer a.sinks.put(s)
	if res.whole {
		res.body.writeJSON(s)
	} else {
		s.buf = append(s.buf, `{"status":"success",`...)
		encode := res.trace.Start("encode")
		res.body.writeJSON(s)
		encode.Donef("%d bytes", s.sent+len(s.buf))
		if res.trace.Enabled() {
			res.trace.Done()
			s.buf = res.trace.AppendJSON(append(s.buf, `,"trace":`...))
		}
		s.buf = append(s.buf, '}')
	}
	a.finish(w, r, s)
}

// respondVMError writes {"status":"error","errorType":...,"error":...}, the type of
// which is the status.
func (a *API) respondVMError(w http.ResponseWriter, r *http.Request, res vmResult) {
	code, retryAfter := queryError(res.err).status()
	status.SetRetryAfter(w.Header(), retryAfter)
	if res.plainError {
		if code == http.StatusUnprocessableEntity {
			code = http.StatusBadRequest
		}
		http.Error(w, res.err.Error(), code)
		return
	}
	body := append([]byte(`{"status":"error","errorType":"`), strconv.Itoa(code)...)
	body = vmhttp.AppendString(append(body, `","error":`...), res.err.Error())
	body = append(body, '}')
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if _, err := w.Write(body); err != nil {
		a.opts.OnError(r, fmt.Errorf("write error answer: %w", err))
	}
}
