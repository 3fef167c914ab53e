package importer

import (
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// Handler serves import and export. It may serve many requests at once.
type Handler struct {
	store Store
	opts  Options

	jsonLines sync.Pool // of *jsonLine
	textLines sync.Pool // of *textLine
	csvTables sync.Pool // of *csvTable
}

// New returns a Handler over store.
func New(store Store, opts Options) *Handler {
	h := &Handler{store: store, opts: opts.withDefaults()}
	h.jsonLines.New = func() any { return &jsonLine{labels: newLabelSet()} }
	h.textLines.New = func() any { return &textLine{labels: newLabelSet()} }
	h.csvTables.New = func() any { return &csvTable{set: newLabelSet()} }
	return h
}

// ImportJSON serves /api/v1/import. It answers 204 when all lines were stored.
func (h *Handler) ImportJSON(w http.ResponseWriter, r *http.Request) {
	extra, err := extraLabels(r.URL.Query())
	if err != nil {
		h.opts.WriteError(w, err)
		return
	}
	p := h.jsonLines.Get().(*jsonLine)
	defer func() { p.shrink(); h.jsonLines.Put(p) }()
	h.answer(w, http.StatusNoContent, h.ingest(r, func(in *ingester, line []byte) (string, error) {
		ok, err := p.parse(line)
		if err != nil {
			return err.Error(), nil
		}
		if !ok || len(p.values) == 0 {
			return "", nil
		}
		return in.add(p.labels, extra, p.times, p.values)
	}))
}

// ImportText serves /api/v1/import/prometheus and the Pushgateway paths below
// it. It answers 204 when all lines were stored; below /metrics/job/ 200, as a
// Pushgateway does.
func (h *Handler) ImportText(w http.ResponseWriter, r *http.Request) {
	args, err := h.textArgs(r)
	if err != nil {
		h.opts.WriteError(w, err)
		return
	}
	p := h.textLines.Get().(*textLine)
	defer h.textLines.Put(p)
	var value [1]float64
	var time [1]int64
	h.answer(w, args.status, h.ingest(r, func(in *ingester, line []byte) (string, error) {
		ok, err := p.parse(line)
		if err != nil {
			return err.Error(), nil
		}
		if !ok || p.value != p.value {
			return "", nil
		}
		value[0], time[0] = p.value, p.time
		if p.time == 0 {
			time[0] = args.time
		}
		return in.add(p.labels, args.extra, time[:], value[:])
	}))
}

func (h *Handler) answer(w http.ResponseWriter, status int, err error) {
	if err != nil {
		h.opts.WriteError(w, err)
		return
	}
	w.WriteHeader(status)
}

// textArgs are what holds for all lines of a text body.
type textArgs struct {
	extra  []labels.Label
	time   int64
	status int
}

func (h *Handler) textArgs(r *http.Request) (a textArgs, err error) {
	query := r.URL.Query()
	a.time, a.status = h.opts.Now().UnixMilli(), http.StatusNoContent
	if s := query.Get("timestamp"); s != "" {
		if a.time, err = parseMillis(s); err != nil {
			return a, badRequest("argument timestamp: %w", err)
		}
	}
	extra, err := extraLabels(query)
	if err != nil {
		return a, err
	}
	_, path, _ := strings.Cut(r.URL.EscapedPath(), "/import/prometheus")
	if a.extra, err = pathLabels(path); err != nil {
		return a, err
	}
	if strings.HasPrefix(path, "/metrics/job/") {
		a.status = http.StatusOK
	}
	a.extra = append(a.extra, extra...)
	return a, nil
}
