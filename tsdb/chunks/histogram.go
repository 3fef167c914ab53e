package chunks

import (
	"fmt"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Histogram chunks are cut by size too: at 1 KiB, as Prometheus' head does, but
// not below 10 samples unless those are huge. A change of the bucket layout
// re-encodes the open chunk, so a small chunk also bounds that work.
const (
	targetHistogramBytes  = chunkenc.TargetBytesPerHistogramChunk
	minHistogramSamples   = chunkenc.MinSamplesPerHistogramChunk
	maxHistogramChunkByte = 64 << 10
)

// stepHistogram appends one histogram. A counter reset, a change of schema,
// bounds or zero threshold starts a new chunk; new buckets re-encode the open
// one. The appender compares each histogram with the one before it, so inside a
// chunk "no reset" is what the data say, whatever hint was stored.
func (e *Encoder) stepHistogram() (sealed bool, err error) {
	gauge, stale := e.histogramTraits()
	if stale {
		gauge = e.open.gauge // a staleness marker keeps its neighbours' chunk
	}
	switch {
	case !e.open.fits(e.span.Kind, e.st):
		prev := e.open.app
		if e.open.kind != e.span.Kind || e.open.gauge || gauge {
			prev = nil
		}
		sealed, err = e.seal(), e.open.start(e.span.Kind, e.st, prev)
	case e.open.gauge != gauge && e.open.n > 0:
		sealed, err = e.seal(), e.open.start(e.span.Kind, e.st, nil)
	case e.histogramChunkFull():
		prev := e.open.app
		if gauge {
			prev = nil
		}
		sealed, err = e.seal(), e.open.start(e.span.Kind, e.st, prev)
	}
	if err != nil {
		return false, err
	}
	e.open.gauge = gauge
	cut, err := e.appendHistogram(gauge)
	e.pos++
	return sealed || cut, err
}

func (e *Encoder) histogramTraits() (gauge, stale bool) {
	if e.span.Kind == block.KindHistogram {
		h := e.span.Histograms[e.pos]
		return h.CounterResetHint == histogram.GaugeType, value.IsStaleNaN(h.Sum)
	}
	h := e.span.FloatHistograms[e.pos]
	return h.CounterResetHint == histogram.GaugeType, value.IsStaleNaN(h.Sum)
}

func (e *Encoder) histogramChunkFull() bool {
	n, size := e.open.n, len(e.open.chunk.Bytes())
	return n >= e.opts.MaxSamples ||
		(n >= minHistogramSamples && size >= targetHistogramBytes) ||
		size >= maxHistogramChunkByte
}

// appendHistogram appends the histogram at pos to the open chunk and reports
// whether the appender cut, which leaves the chunk before in done.
func (e *Encoder) appendHistogram(gauge bool) (cut bool, err error) {
	t, st := e.span.Time(e.pos), int64(0)
	if e.st {
		st = e.span.StartTimes[e.pos]
	}
	var (
		next    chunkenc.Chunk
		recoded bool
		app     chunkenc.Appender
	)
	if e.span.Kind == block.KindHistogram {
		e.span.Histograms[e.pos].CopyTo(&e.h)
		if gauge {
			e.h.CounterResetHint = histogram.GaugeType
		}
		next, recoded, app, err = e.open.app.AppendHistogram(e.open.prev, st, t, &e.h, false)
	} else {
		e.span.FloatHistograms[e.pos].CopyTo(&e.fh)
		if gauge {
			e.fh.CounterResetHint = histogram.GaugeType
		}
		next, recoded, app, err = e.open.app.AppendFloatHistogram(e.open.prev, st, t, &e.fh, false)
	}
	if err != nil {
		return false, fmt.Errorf("encode %s chunk at time %d: %w", e.span.Kind, t, err)
	}
	if next != nil {
		cut = !recoded && e.seal()
		e.open.chunk = next
	}
	e.open.app, e.open.prev = app, nil
	e.open.extend(t, t, 1)
	return cut, nil
}
