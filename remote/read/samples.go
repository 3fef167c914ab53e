package read

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/varvedb/varve/tsdb/chunks"
)

// sample answers with one snappy block of prometheus.ReadResponse.
func (h *Handler) sample(ctx context.Context, w http.ResponseWriter, queries []query) {
	e := samplesEncoder{maxSamples: h.opts.MaxSamples, maxBytes: h.opts.MaxResponseBytes}
	for _, q := range queries {
		if err := h.appendResult(ctx, &e, q); err != nil {
			h.opts.WriteError(w, err)
			return
		}
	}
	body := snappy.Encode(nil, e.buf)
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(body) // the client is gone; nobody is left to tell
}

// appendResult appends the QueryResult of one query.
func (h *Handler) appendResult(ctx context.Context, e *samplesEncoder, q query) error {
	e.samples = 0
	result := e.open(1)
	err := h.eachSeries(ctx, q, func(v View, i int) error {
		return e.appendSeries(v.Labels(i), v.Cursor(i, q.mint, q.maxt))
	})
	e.close(result)
	return err
}

// samplesEncoder appends a prometheus.ReadResponse to buf field by field: what
// gogo would marshal, without the message in between, and with the sign of
// negative zeros, which gogo drops.
type samplesEncoder struct {
	buf        []byte
	samples    int // of the query at hand
	maxSamples int
	maxBytes   int
}

// The types of fields on the wire.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
)

func (e *samplesEncoder) tag(field, typ byte) { e.buf = append(e.buf, field<<3|typ) }

// open starts an embedded message; close writes its length before it.
func (e *samplesEncoder) open(field byte) (start int) {
	e.tag(field, wireBytes)
	return len(e.buf)
}

func (e *samplesEncoder) close(start int) {
	size := len(e.buf) - start
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(size))
	e.buf = append(e.buf, length[:n]...)
	copy(e.buf[start+n:], e.buf[start:start+size])
	copy(e.buf[start:], length[:n])
}

func (e *samplesEncoder) text(field byte, s string) {
	if s == "" {
		return
	}
	e.tag(field, wireBytes)
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// double writes v unless all its bits are zero.
func (e *samplesEncoder) double(field byte, v float64) {
	if bits := math.Float64bits(v); bits != 0 {
		e.tag(field, wireFixed64)
		e.buf = binary.LittleEndian.AppendUint64(e.buf, bits)
	}
}

func (e *samplesEncoder) varint(field byte, v int64) {
	if v != 0 {
		e.tag(field, wireVarint)
		e.buf = binary.AppendUvarint(e.buf, uint64(v))
	}
}

// appendSeries appends a prometheus.TimeSeries, or nothing when the series has
// no sample in the range.
func (e *samplesEncoder) appendSeries(lset labels.Labels, c chunks.Cursor) error {
	begin := len(e.buf)
	series := e.open(1)
	lset.Range(func(l labels.Label) {
		label := e.open(1)
		e.text(1, l.Name)
		e.text(2, l.Value)
		e.close(label)
	})
	count := 0
	for c.Next() {
		span := c.Span()
		if err := e.count(span.Count); err != nil {
			return err
		}
		count += span.Count
		if err := e.appendSpan(span); err != nil {
			return err
		}
		if len(e.buf) > e.maxBytes {
			return &RequestError{fmt.Errorf("exceeded response size limit (%d bytes)", e.maxBytes)}
		}
	}
	if count == 0 {
		e.buf = e.buf[:begin]
		return c.Err()
	}
	e.close(series)
	return c.Err()
}

func (e *samplesEncoder) count(n int) error {
	e.samples += n
	if e.maxSamples > 0 && e.samples > e.maxSamples {
		return &RequestError{fmt.Errorf("exceeded sample limit (%d)", e.maxSamples)}
	}
	return nil
}

func (e *samplesEncoder) appendSpan(s *chunks.Span) error {
	switch {
	case s.Histograms != nil:
		for i, h := range s.Histograms[:s.Count] {
			if err := e.appendHistogram(prompb.FromIntHistogram(s.Time(i), h), h.Sum); err != nil {
				return err
			}
		}
	case s.FloatHistograms != nil:
		for i, h := range s.FloatHistograms[:s.Count] {
			if err := e.appendHistogram(prompb.FromFloatHistogram(s.Time(i), h), h.Sum); err != nil {
				return err
			}
		}
	default:
		for i := range s.Count {
			e.appendSample(s.Time(i), s.Float(i))
		}
	}
	return nil
}

// appendSample is open, double, varint and close; its length is always one byte.
func (e *samplesEncoder) appendSample(t int64, v float64) {
	e.buf = append(e.buf, 2<<3|wireBytes, 0)
	start := len(e.buf)
	e.double(1, v)
	e.varint(2, t)
	e.buf[start-1] = byte(len(e.buf) - start)
}

func (e *samplesEncoder) appendHistogram(h prompb.Histogram, sum float64) error {
	const fieldSum = 3
	start, size := e.open(4), h.Size()
	e.buf = append(e.buf, make([]byte, size)...)
	if _, err := h.MarshalToSizedBuffer(e.buf[len(e.buf)-size:]); err != nil {
		return fmt.Errorf("marshal histogram: %w", err)
	}
	if sum == 0 {
		e.double(fieldSum, sum) // the sign of a negative zero
	}
	e.close(start)
	return nil
}
