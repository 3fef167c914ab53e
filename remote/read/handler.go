package read

import (
	"context"
	"net/http"

	"github.com/prometheus/prometheus/prompb"
)

// Handler serves POST /api/v1/read. It may serve many requests at once.
type Handler struct {
	store Store
	opts  Options
	gate  chan struct{} // nil: no limit
}

// New returns a Handler over store.
func New(store Store, opts Options) *Handler {
	h := &Handler{store: store, opts: opts.withDefaults()}
	if h.opts.MaxConcurrent > 0 {
		h.gate = make(chan struct{}, h.opts.MaxConcurrent)
	}
	return h
}

// ServeHTTP reads a request and answers it in the response type it accepts.
// It panics with http.ErrAbortHandler when a streamed answer breaks off.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if err := h.enter(ctx); err != nil {
		h.opts.WriteError(w, err)
		return
	}
	defer h.leave()

	req, err := readRequest(r.Body, h.opts.MaxRequestBytes)
	if err != nil {
		h.opts.WriteError(w, &RequestError{err})
		return
	}
	if req.responseType == prompb.ReadRequest_STREAMED_XOR_CHUNKS {
		h.stream(ctx, w, req.queries)
		return
	}
	h.sample(ctx, w, req.queries)
}

// enter waits for a free place; it fails when the client leaves first.
func (h *Handler) enter(ctx context.Context) error {
	if h.gate == nil {
		return nil
	}
	select {
	case h.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *Handler) leave() {
	if h.gate != nil {
		<-h.gate
	}
}

// eachSeries calls f for the series of a query, in label order, and stops at
// the first error or when ctx ends.
func (h *Handler) eachSeries(ctx context.Context, q query, f func(v View, i int) error) error {
	if q.empty() {
		return nil
	}
	view, err := h.store.Select(ctx, q.mint, q.maxt, q.matchers...)
	if err != nil {
		return err
	}
	defer view.Close()
	for i := range view.Len() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := f(view, i); err != nil {
			return err
		}
	}
	return nil
}
