package chunks

import (
	"fmt"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Cursor and Span name the types of the read API, for callers outside tsdb.
type (
	Cursor = block.Cursor
	Span   = block.Span
)

const (
	defaultSamples = 120
	// maxSamples is what the sample count of a histogram chunk with start
	// timestamps has room for.
	maxSamples = 1<<14 - 1
)

// Options say how chunks are cut. The zero value is what Prometheus does.
type Options struct {
	// MaxSamples is the most samples in a chunk; 0 means 120, at most 16383.
	MaxSamples int
	// DropStartTimes leaves start timestamps out, for readers older than the
	// encodings that store them (XOR2, histogramST, floathistogramST).
	DropStartTimes bool
}

func (o Options) withDefaults() Options {
	if o.MaxSamples <= 0 {
		o.MaxSamples = defaultSamples
	}
	o.MaxSamples = min(o.MaxSamples, maxSamples)
	return o
}

// Chunk is a run of samples of one series. MinT and MaxT are the times of its
// first and last sample. It shares no memory with the Cursor it came from.
type Chunk struct {
	MinT, MaxT int64
	Chunk      chunkenc.Chunk
}

// Encoder yields the samples of a Cursor as chunks. It is for one goroutine and
// holds one open chunk and one span at a time.
type Encoder struct {
	opts Options
	src  Cursor
	err  error

	span *Span // nil before the first and after the last span
	pos  int   // next sample of span
	st   bool  // the span has start timestamps to keep

	open open
	done Chunk

	h  histogram.Histogram // the appender may change what it is given
	fh histogram.FloatHistogram
}

// NewEncoder returns an Encoder over src.
func NewEncoder(src Cursor, opts Options) *Encoder {
	e := &Encoder{opts: opts.withDefaults()}
	e.Reset(src)
	return e
}

// Reset makes e read another Cursor, with the same Options.
func (e *Encoder) Reset(src Cursor) {
	e.src, e.err = src, nil
	e.span, e.pos, e.st = nil, 0, false
	e.open, e.done = open{}, Chunk{}
}

// Next moves to the next chunk. After it returned false, Err tells whether the
// end was reached.
func (e *Encoder) Next() bool {
	for e.err == nil && e.nextSpan() {
		sealed, err := e.step()
		if err != nil {
			e.err = err
			return false
		}
		if sealed {
			return true
		}
	}
	if e.err != nil || e.open.n == 0 {
		return false
	}
	e.seal()
	return true
}

// At returns the current chunk. The caller owns it.
func (e *Encoder) At() Chunk { return e.done }

// Err returns what stopped Next, nil at the end.
func (e *Encoder) Err() error { return e.err }

// nextSpan makes sure that span has a sample at pos; false at the end.
func (e *Encoder) nextSpan() bool {
	if e.span != nil && e.pos < e.span.Count {
		return true
	}
	if !e.src.Next() {
		e.span, e.err = nil, e.src.Err()
		return false
	}
	e.span, e.pos = e.src.Span(), 0
	e.st = !e.opts.DropStartTimes && hasStartTimes(e.span)
	return e.span.Count > 0 || e.nextSpan()
}

func hasStartTimes(s *Span) bool {
	for _, st := range s.StartTimes {
		if st != 0 {
			return true
		}
	}
	return false
}

// step appends at least one sample of the span and reports whether that sealed
// a chunk, now in done.
func (e *Encoder) step() (sealed bool, err error) {
	switch e.span.Kind {
	case block.KindFloat:
		return e.stepFloats()
	case block.KindHistogram, block.KindFloatHistogram:
		return e.stepHistogram()
	}
	return false, fmt.Errorf("encode chunk: unknown kind of samples %d", e.span.Kind)
}

func (e *Encoder) stepFloats() (sealed bool, err error) {
	if !e.open.fits(e.span.Kind, e.st) || e.open.n >= e.opts.MaxSamples {
		sealed = e.seal()
		if err := e.open.start(e.span.Kind, e.st, nil); err != nil {
			return false, err
		}
	}
	n := min(e.opts.MaxSamples-e.open.n, e.span.Count-e.pos)
	if e.st {
		appendFloatsST(e.open.app, e.span, e.pos, e.pos+n)
	} else {
		appendFloats(e.open.app, e.span, e.pos, e.pos+n)
	}
	e.open.extend(e.span.Time(e.pos), e.span.Time(e.pos+n-1), n)
	e.pos += n
	return sealed, nil
}

func appendFloats(app chunkenc.Appender, s *Span, i, j int) {
	for ; i < j; i++ {
		app.Append(0, s.Time(i), s.Float(i))
	}
}

func appendFloatsST(app chunkenc.Appender, s *Span, i, j int) {
	for ; i < j; i++ {
		app.Append(s.StartTimes[i], s.Time(i), s.Float(i))
	}
}

// seal moves the open chunk, if it has samples, into done.
func (e *Encoder) seal() bool {
	if e.open.n == 0 {
		return false
	}
	e.done = Chunk{MinT: e.open.mint, MaxT: e.open.maxt, Chunk: e.open.chunk}
	e.open.n = 0
	return true
}
