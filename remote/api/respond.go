package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/status"
)

// maxAnnotations bounds the warnings and the infos of one answer.
const maxAnnotations = 10

// handler answers a request whose form has been parsed.
type handler func(r *http.Request) result

// result is what a handler found: data, or err, or neither for 204.
type result struct {
	data     payload
	err      *apiError
	warnings annotations.Annotations
	close    func()         // gives back what data stands on; may be nil
	trace    *promqlx.Trace // is added to the answer unless nil
}

// payload is an answer's data. It cannot fail: what can, fails in the handler.
type payload interface {
	writeJSON(s *sink)
}

// rawJSON is a payload that is JSON already.
type rawJSON []byte

func (p rawJSON) writeJSON(s *sink) { s.buf = append(s.buf, p...) }

// answer makes a result of anything encoding/json takes.
func answer(v any) result {
	b, err := json.Marshal(v)
	if err != nil {
		return internal(fmt.Errorf("marshal answer: %w", err))
	}
	return result{data: rawJSON(b)}
}

// wrap makes an http.Handler of a handler: compression, CORS, form, answer.
func (a *API) wrap(f handler) http.Handler {
	return a.formed(func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, f(r)) })
}

// formed is what goes before the answer: compression, CORS, form.
func (a *API) formed(f http.HandlerFunc) http.Handler {
	return a.compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.setCORS(w, r)
		if err := parseForm(w, r, a.opts.MaxFormBytes); err != nil {
			a.respondError(w, r, &apiError{kindBadData, fmt.Errorf("error parsing form values: %w", err)})
			return
		}
		f(w, r)
	}))
}

func (a *API) serve(w http.ResponseWriter, r *http.Request, res result) {
	if res.close != nil {
		defer res.close()
	}
	switch {
	case res.err != nil:
		a.respondError(w, r, res.err)
	case res.data != nil:
		a.respond(w, r, res)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// respond streams {"status":"success","data":...,"warnings":[...],"infos":[...]}
// and, where it was asked for, "trace".
func (a *API) respond(w http.ResponseWriter, r *http.Request, res result) {
	w.Header().Set("Content-Type", "application/json")
	s := a.sinks.get(w)
	defer a.sinks.put(s)
	s.buf = append(s.buf, `{"status":"success","data":`...)
	encode := res.trace.Start("encode")
	res.data.writeJSON(s)
	encode.Donef("%d bytes", s.sent+len(s.buf))
	// The query gives the annotations their positions.
	warnings, infos := res.warnings.AsStrings(r.Form.Get("query"), 0, 0)
	s.buf = appendNotes(s.buf, `,"warnings":`, "warning", warnings)
	s.buf = appendNotes(s.buf, `,"infos":`, "info", infos)
	if res.trace.Enabled() {
		res.trace.Done()
		s.buf = res.trace.AppendJSON(append(s.buf, `,"trace":`...))
	}
	s.buf = append(s.buf, '}')
	a.finish(w, r, s)
}

// finish sends what is left of an answer.
func (a *API) finish(w http.ResponseWriter, r *http.Request, s *sink) {
	if s.sent == 0 { // spares pieces that say how long they are
		w.Header().Set("Content-Length", strconv.Itoa(len(s.buf)))
	}
	if err := s.flush(); err != nil {
		a.opts.OnError(r, fmt.Errorf("write answer: %w", err))
	}
}

// appendNotes appends a field of at most maxAnnotations annotations in
// alphabetical order; further ones are counted. No notes append nothing.
func appendNotes(dst []byte, field, what string, notes []string) []byte {
	if len(notes) == 0 {
		return dst
	}
	slices.Sort(notes)
	if more := len(notes) - maxAnnotations; more > 0 {
		notes = append(notes[:maxAnnotations], fmt.Sprintf("%d more %s annotations omitted", more, what))
	}
	dst = append(dst, field...)
	return appendStrings(dst, notes)
}

// respondError writes {"status":"error","errorType":...,"error":...}.
func (a *API) respondError(w http.ResponseWriter, r *http.Request, e *apiError) {
	body := []byte(`{"status":"error","errorType":`)
	body = appendString(body, string(e.kind))
	body = append(body, `,"error":`...)
	body = appendString(body, e.err.Error())
	body = append(body, '}')
	w.Header().Set("Content-Type", "application/json")
	code, retryAfter := e.status()
	status.SetRetryAfter(w.Header(), retryAfter)
	w.WriteHeader(code)
	if _, err := w.Write(body); err != nil {
		a.opts.OnError(r, fmt.Errorf("write error answer: %w", err))
	}
}

// marshalPlain is json.Marshal without the escapes for HTML.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
