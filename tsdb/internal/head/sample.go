package head

import (
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Kind says what a Sample carries.
type Kind uint8

// Kinds of samples.
const (
	KindFloat        Kind = iota // Bits are the value's
	KindStartedFloat             // a float with a start timestamp, see Samples.Started
	KindHistogram                // either kind of histogram, see Samples.Histogram
	KindExemplar                 // see Samples.Exemplar
)

// Sample is one thing to be added to a series. What does not fit is in a table
// of its Samples, where Bits is its number.
type Sample struct {
	Slot uint32
	Kind Kind
	T    int64 // milliseconds
	Bits uint64
}

// Float returns the value of a sample of KindFloat.
func (s *Sample) Float() float64 { return math.Float64frombits(s.Bits) }

// Started is a float with a start timestamp.
type Started struct {
	ST int64
	V  float64
}

// Histogram is a histogram of one kind, the other pointer is nil. ST 0 is
// unknown.
type Histogram struct {
	ST    int64
	Int   *histogram.Histogram
	Float *histogram.FloatHistogram
}

// Samples are what a request adds, by shard, those of a series in the order of
// arrival. It is reused from request to request by one goroutine at a time.
type Samples struct {
	shards     [ShardCount][]Sample
	started    []Started
	histograms []Histogram
	exemplars  []exemplar.Exemplar
	n          int
	sorter     sorter
}

// Len returns the number of samples and exemplars.
func (s *Samples) Len() int { return s.n }

// Shard returns what goes to a shard; it must not be modified.
func (s *Samples) Shard(i int) []Sample { return s.shards[i] }

func (s *Samples) add(slot uint32, k Kind, t int64, bits uint64) {
	list := &s.shards[shardOf(slot)]
	*list = append(*list, Sample{Slot: slot, Kind: k, T: t, Bits: bits})
	s.n++
}

// AddFloat adds a float; st 0 is unknown.
func (s *Samples) AddFloat(slot uint32, st, t int64, v float64) {
	if st == 0 {
		s.add(slot, KindFloat, t, math.Float64bits(v))
		return
	}
	s.add(slot, KindStartedFloat, t, uint64(len(s.started)))
	s.started = append(s.started, Started{ST: st, V: v})
}

// AddHistogram adds a histogram, which the head takes ownership of.
func (s *Samples) AddHistogram(slot uint32, t int64, h Histogram) {
	s.add(slot, KindHistogram, t, uint64(len(s.histograms)))
	s.histograms = append(s.histograms, h)
}

// AddExemplar adds an exemplar, whose strings the head takes ownership of.
func (s *Samples) AddExemplar(slot uint32, x exemplar.Exemplar) {
	s.add(slot, KindExemplar, x.Ts, uint64(len(s.exemplars)))
	s.exemplars = append(s.exemplars, x)
}

// Started returns what a sample of KindStartedFloat carries.
func (s *Samples) Started(x *Sample) Started { return s.started[x.Bits] }

// Histogram returns what a sample of KindHistogram carries.
func (s *Samples) Histogram(x *Sample) *Histogram { return &s.histograms[x.Bits] }

// Exemplar returns what a sample of KindExemplar carries.
func (s *Samples) Exemplar(x *Sample) *exemplar.Exemplar { return &s.exemplars[x.Bits] }

// Reset empties s and keeps its memory.
func (s *Samples) Reset() {
	for i := range s.shards {
		s.shards[i] = s.shards[i][:0]
	}
	clear(s.histograms)
	clear(s.exemplars)
	s.started, s.histograms, s.exemplars, s.n = s.started[:0], s.histograms[:0], s.exemplars[:0], 0
}

// Cap returns the number of samples that s keeps memory for.
func (s *Samples) Cap() int {
	n := cap(s.started) + cap(s.histograms) + cap(s.exemplars)
	for i := range s.shards {
		n += cap(s.shards[i])
	}
	return n
}

// sample is a float or histogram by itself.
type sample struct {
	t, st int64
	kind  block.Kind
	v     float64
	h     *histogram.Histogram
	fh    *histogram.FloatHistogram
}

// sample returns x, which is no exemplar, by itself.
func (s *Samples) sample(x *Sample) sample {
	switch x.Kind {
	case KindStartedFloat:
		f := s.started[x.Bits]
		return sample{t: x.T, st: f.ST, kind: block.KindFloat, v: f.V}
	case KindHistogram:
		h := &s.histograms[x.Bits]
		kind := block.KindHistogram
		if h.Float != nil {
			kind = block.KindFloatHistogram
		}
		return sample{t: x.T, st: h.ST, kind: kind, h: h.Int, fh: h.Float}
	}
	return sample{t: x.T, kind: block.KindFloat, v: x.Float()}
}
