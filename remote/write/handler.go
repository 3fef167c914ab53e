package write

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/remote/internal/httpbody"
	"github.com/varvedb/varve/remote/internal/status"
	"github.com/varvedb/varve/tsdb"
)

// Handler serves POST of remote write 1.0 and 2.0 requests into a store. It may
// serve many requests at once.
type Handler struct {
	o        Options
	newBatch func() batch
	budget   budget
	keyer    keyer
	series   *cache
	metadata *cache
	requests sync.Pool // *request
	turns    turns
	stats    counters
}

// New returns a handler that writes into db, which must stay open as long as
// requests come.
func New(db *tsdb.DB, o Options) *Handler {
	return newHandler(func() batch { return db.Batch() }, o)
}

func newHandler(newBatch func() batch, o Options) *Handler {
	h := &Handler{o: o.withDefaults(), newBatch: newBatch, keyer: newKeyer(), turns: newTurns()}
	h.budget.limit = h.o.MaxInFlightBytes
	h.series = newCache(h.o.SeriesCacheEntries)
	h.metadata = newCache(maxMetadataSeen)
	return h
}

// Stats counts what a Handler did since it was made.
type Stats struct {
	Requests, Failed                         int64 // Failed: answered with anything but 204
	Samples, Histograms, Exemplars, Metadata int64 // committed
	Refused                                  int64 // items refused in requests that were sound otherwise
	CacheHits, CacheMisses                   int64 // series found by their label bytes, or not
	InFlightBytes                            int64 // memory of the requests being served, now
}

type counters struct {
	requests, failed, samples, histograms, exemplars, metadata, refused, hits, misses atomic.Int64
}

// Stats returns the counts. It may be called at any time.
func (h *Handler) Stats() Stats {
	c := &h.stats
	return Stats{
		Requests: c.requests.Load(), Failed: c.failed.Load(),
		Samples: c.samples.Load(), Histograms: c.histograms.Load(), Exemplars: c.exemplars.Load(), Metadata: c.metadata.Load(),
		Refused: c.refused.Load(), CacheHits: c.hits.Load(), CacheMisses: c.misses.Load(),
		InFlightBytes: h.budget.used.Load(),
	}
}

// ServeHTTP answers 204 when all of a request was logged by the store; else
// with a status of remote write and a plain text:
//
//	400 the message is broken, and nothing of it was stored; or some of it was
//	    refused, and the rest was stored
//	413 the body is over its limit
//	415 another content type or encoding is needed
//	429 a limit of the store; what is not new was stored
//	503 short of memory or disk; nothing was stored, try again later
//	500 anything else; nothing was stored
//
// Answers to 2.0 requests carry what was written in the headers of the
// specification, errors too.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.stats.requests.Add(1)
	v, err := h.negotiate(r)
	var encoding string
	if err == nil {
		encoding, err = negotiateEncoding(r.Header.Get("Content-Encoding"))
	}
	var done written
	if err == nil {
		done, err = h.serve(r, v, encoding)
	}
	if v == version2 {
		setWritten(w.Header(), done)
	}
	if err != nil {
		h.stats.failed.Add(1)
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
		}
		status.Write(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *Handler) negotiate(r *http.Request) (version, error) {
	if r.Method != http.MethodPost {
		return 0, status.New(http.StatusMethodNotAllowed, "remote write takes POST only")
	}
	return negotiateVersion(r.Header.Get("Content-Type"))
}

// setWritten sets the headers in which a 2.0 receiver says what it stored.
func setWritten(h http.Header, done written) {
	h.Set("X-Prometheus-Remote-Write-Samples-Written", strconv.Itoa(done.samples))
	h.Set("X-Prometheus-Remote-Write-Histograms-Written", strconv.Itoa(done.histograms))
	h.Set("X-Prometheus-Remote-Write-Exemplars-Written", strconv.Itoa(done.exemplars))
}

// serve reads, decodes and stores one request and returns what was stored, also
// beside an error.
func (h *Handler) serve(r *http.Request, v version, encoding string) (written, error) {
	req, _ := h.requests.Get().(*request)
	if req == nil {
		req = newRequest(h)
	}
	defer h.requests.Put(req)
	defer req.release()
	body, err := httpbody.Read(r, h.o.MaxEncodedBytes, req.loan.take)
	if err != nil {
		return written{}, err
	}
	defer body.Release()
	err = h.decode(r.Context(), req, v, encoding, body.B)
	if req.b == nil {
		return written{}, err
	}
	return h.commit(r.Context(), req, err)
}

// decode decompresses a body and walks the message into a batch, which the
// request has afterwards unless the body is broken. The message is gone when
// decode returns: there are no more of them at a time than turns, however many
// senders wait for the disk.
func (h *Handler) decode(ctx context.Context, req *request, v version, encoding string, body []byte) error {
	if err := h.turns.take(ctx); err != nil {
		return err
	}
	defer h.turns.giveBack()
	msg, err := httpbody.Decode(encoding, body, h.o.MaxDecodedBytes, req.loan.take)
	if err != nil {
		return err
	}
	defer msg.Release()
	req.reset(h.newBatch(), v)
	return h.walk(req, msg.B)
}

// walk brings a message into the request's batch.
func (h *Handler) walk(req *request, msg []byte) (err error) {
	if req.v == version2 {
		err = req.walkV2(msg)
	} else {
		err = req.walkV1(msg)
	}
	h.stats.hits.Add(req.hits)
	h.stats.misses.Add(req.misses)
	return err
}

// commit ends the request's batch; err is what walking said.
func (h *Handler) commit(ctx context.Context, req *request, err error) (written, error) {
	if err != nil {
		req.b.Discard()
	} else {
		err = req.b.Commit(ctx)
	}
	if err != nil {
		if req.noted {
			h.metadata.reset() // it holds what was not stored
		}
		return written{}, err
	}
	h.count(req)
	return req.done, req.report.err(req.done.total(req.v))
}

func (h *Handler) count(req *request) {
	h.stats.samples.Add(int64(req.done.samples))
	h.stats.histograms.Add(int64(req.done.histograms))
	h.stats.exemplars.Add(int64(req.done.exemplars))
	h.stats.metadata.Add(int64(req.done.metadata))
	h.stats.refused.Add(int64(req.report.refused))
}
