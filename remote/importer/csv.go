package importer

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/model/labels"
)

// ImportCSV serves /api/v1/import/csv. It answers 204 when all lines were
// stored.
func (h *Handler) ImportCSV(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	format, err := parseCSVFormat(query.Get("format"))
	if err != nil {
		h.opts.WriteError(w, err)
		return
	}
	extra, err := extraLabels(query)
	if err != nil {
		h.opts.WriteError(w, err)
		return
	}
	p := h.csvTables.Get().(*csvTable)
	defer func() { p.line.shrink(); h.csvTables.Put(p) }()
	p.line.format, p.extra, p.headed = format, extra, false
	p.now, p.maxBytes = h.opts.Now().UnixMilli(), h.opts.MaxLineBytes
	h.answer(w, http.StatusNoContent, h.ingest(r, p.add))
}

// csvTable brings the lines of one table to an ingester.
type csvTable struct {
	line     csvLine
	set      *labelSet
	extra    []labels.Label
	headed   bool  // the first line is behind
	now      int64 // the time of lines without one
	maxBytes int

	time  [1]int64
	value [1]float64
}

// add takes a line. The first one may be a header, which is passed over: a line
// in whose cells a number or time is none.
func (p *csvTable) add(in *ingester, line []byte) (refused string, err error) {
	if len(line) == 0 {
		return "", nil
	}
	err = p.line.parse(line)
	first := !p.headed
	p.headed = true
	if err != nil {
		if _, isCell := errors.AsType[*csvCellError](err); first && isCell {
			return "", nil
		}
		return err.Error(), nil
	}
	if size := p.line.repeatedBytes(p.extra); size > p.maxBytes {
		return fmt.Sprintf("its labels, once for each of %d metrics, have %d bytes (limit: %d bytes)", len(p.line.samples), size, p.maxBytes), nil
	}
	p.time[0] = p.line.time
	if p.time[0] == 0 {
		p.time[0] = p.now
	}
	for _, s := range p.line.samples {
		if s.value != s.value {
			continue
		}
		p.set.reset()
		p.set.add(labels.MetricName, s.metric)
		for _, l := range p.line.labels {
			p.set.add(l.Name, l.Value)
		}
		p.value[0] = s.value
		reason, err := in.add(p.set, p.extra, p.time[:], p.value[:])
		if err != nil {
			return "", err
		}
		if refused == "" {
			refused = reason
		}
	}
	return refused, nil
}
