package tsdb

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// sampleIterator hands out the samples of a Cursor one by one, as Prometheus'
// engine wants them.
type sampleIterator struct {
	cursor *Cursor
	span   *Span
	i      int
	done   bool
}

var _ chunkenc.Iterator = (*sampleIterator)(nil)

func (it *sampleIterator) Next() chunkenc.ValueType {
	if it.done {
		return chunkenc.ValNone
	}
	if it.span != nil && it.i+1 < it.span.Count {
		it.i++
		return it.kind()
	}
	return it.nextSpan()
}

func (it *sampleIterator) nextSpan() chunkenc.ValueType {
	if !it.cursor.Next() {
		it.done = true
		return chunkenc.ValNone
	}
	it.span, it.i = it.cursor.Span(), 0
	return it.kind()
}

func (it *sampleIterator) Seek(t int64) chunkenc.ValueType {
	if it.done {
		return chunkenc.ValNone
	}
	if it.span != nil && it.span.Time(it.i) >= t {
		return it.kind()
	}
	for it.span == nil || it.span.MaxT() < t {
		if it.nextSpan() == chunkenc.ValNone {
			return chunkenc.ValNone
		}
	}
	it.i = max(it.i, it.span.Search(t))
	return it.kind()
}

func (it *sampleIterator) kind() chunkenc.ValueType {
	switch it.span.Kind {
	case KindHistogram:
		return chunkenc.ValHistogram
	case KindFloatHistogram:
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

func (it *sampleIterator) At() (int64, float64) { return it.span.Time(it.i), it.span.Float(it.i) }
func (it *sampleIterator) AtT() int64           { return it.span.Time(it.i) }
func (it *sampleIterator) AtST() int64          { return it.span.StartTime(it.i) }
func (it *sampleIterator) Err() error           { return it.cursor.Err() }

func (it *sampleIterator) AtHistogram(into *histogram.Histogram) (int64, *histogram.Histogram) {
	h := it.span.Histograms[it.i]
	if into == nil {
		return it.AtT(), h.Copy()
	}
	h.CopyTo(into)
	return it.AtT(), into
}

func (it *sampleIterator) AtFloatHistogram(into *histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	if it.span.Kind == KindHistogram {
		return it.AtT(), it.span.Histograms[it.i].ToFloat(into)
	}
	h := it.span.FloatHistograms[it.i]
	if into == nil {
		return it.AtT(), h.Copy()
	}
	h.CopyTo(into)
	return it.AtT(), into
}
