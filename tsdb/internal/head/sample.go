package head

import (
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Kind says what a Sample carries.
type Kind uint8

// Kinds of samples that can be enqueued.
const (
	KindFloat Kind = iota
	KindHistogram
	KindFloatHistogram
	KindExemplar
)

func (k Kind) block() block.Kind {
	switch k {
	case KindHistogram:
		return block.KindHistogram
	case KindFloatHistogram:
		return block.KindFloatHistogram
	}
	return block.KindFloat
}

// Sample is one thing to be added to a series. The head takes ownership of the
// histogram.
type Sample struct {
	Series   *Series
	Kind     Kind
	ST, T    int64 // milliseconds; ST 0 is unknown
	V        float64
	H        *histogram.Histogram
	FH       *histogram.FloatHistogram
	Exemplar *exemplar.Exemplar
}
