package record

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// Columns is a decoded Columns payload. It may be used again and again; its
// slices are then overwritten. Its zero value is ready.
type Columns struct {
	// One entry for each sample, in the order they were added. Those that are
	// histograms have the value 0 here and an entry in Histograms.
	Refs   []uint32
	Times  []int64 // milliseconds
	Values []float64
	STs    []int64 // start times, 0 where unknown; empty where all are

	Histograms []HistogramAt // ascending by At
	Exemplars  []SeriesExemplar
	Metadata   []FamilyMetadata

	definitions []byte // aliases the payload
	text        [2]labelText
	builder     labels.ScratchBuilder
}

// HistogramAt is a sample that is a histogram: one of the two pointers is set.
type HistogramAt struct {
	At             int // its place in the columns
	Histogram      *histogram.Histogram
	FloatHistogram *histogram.FloatHistogram
}

// SeriesExemplar is an exemplar of the series with that ref; it owns its strings.
type SeriesExemplar struct {
	Ref      uint32
	Exemplar exemplar.Exemplar
}

// FamilyMetadata is the metadata of a metric family; it owns its strings.
type FamilyMetadata struct {
	Family   string
	Metadata metadata.Metadata
}

// DecodeColumns decodes a Columns payload into c, but for its definitions, which
// Define decodes as long as the payload is there. It never panics and allocates no
// more than a small multiple of the payload's length. After an error the content
// of c is of no use.
func DecodeColumns(payload []byte, c *Columns) error {
	c.reset()
	var in sections
	if err := in.split(payload); err != nil {
		return err
	}
	c.definitions = in[sectionDefinitions].b
	in[sectionDefinitions].b = nil
	c.samples(&in)
	for r := &in[sectionExemplars]; len(r.b) > 0; {
		ref, x := r.exemplar()
		c.Exemplars = append(c.Exemplars, SeriesExemplar{Ref: ref, Exemplar: x})
	}
	for r := &in[sectionMetadata]; len(r.b) > 0; {
		family, m := r.family()
		c.Metadata = append(c.Metadata, FamilyMetadata{Family: family, Metadata: m})
	}
	return in.finish()
}

func (c *Columns) reset() {
	c.Refs, c.Times, c.Values, c.STs = c.Refs[:0], c.Times[:0], c.Values[:0], c.STs[:0]
	clear(c.Histograms)
	clear(c.Exemplars)
	clear(c.Metadata)
	c.Histograms, c.Exemplars, c.Metadata = c.Histograms[:0], c.Exemplars[:0], c.Metadata[:0]
	c.definitions = nil
}

// samples decodes the columns. A value takes a byte at least, which bounds them.
func (c *Columns) samples(in *sections) {
	limit := len(in[sectionValues].b)
	c.Refs = appendRefs(c.Refs, &in[sectionRefs], limit)
	if in[sectionRefs].err != nil {
		return
	}
	n := len(c.Refs)
	c.Times = appendTimes(slices.Grow(c.Times, n), &in[sectionTimes], n)
	if len(in[sectionStarts].b) > 0 {
		c.STs = appendTimes(slices.Grow(c.STs, n), &in[sectionStarts], n)
	}
	c.Values = slices.Grow(c.Values, n)[:n]
	c.values(&in[sectionValues], &in[sectionHistograms])
}

// values decodes the column of values by the refs, which are there. It is
// ColumnDecoder.sample with the common codes taken first, in local variables.
func (c *Columns) values(r, histograms *reader) {
	src, dst := r.b, c.Values[:len(c.Refs)]
	var b base
	prev := int64(-1)
	for i, ref := range c.Refs {
		if len(src) == 0 {
			r.fail("the column of values is shorter than the others")
			return
		}
		code := src[0]
		src = src[1:]
		follows := int64(ref) == prev
		prev = int64(ref)
		z := int64(code)
		switch {
		case code < codeAbsolute:
		case code >= codeNear && len(src) > 0:
			z = codeAbsolute + int64(code-codeNear)<<8 + int64(src[0])
			src = src[1:]
		case code < codeDelta && len(src) >= 8:
			k := code - codeAbsolute
			n := k%absoluteLengths + 1
			b.mantissa, b.scale = unzigzag(binary.LittleEndian.Uint64(src)&(1<<(8*n)-1)), k/absoluteLengths
			dst[i] = b.decimal()
			src = src[n:]
			continue
		case code >= codeRaw && code < codeSame && len(src) >= 8:
			n := code - codeRaw
			if !follows {
				b.mantissa, b.scale = 0, 0
			}
			b.bits = binary.LittleEndian.Uint64(src) << (64 - 8*n)
			dst[i] = math.Float64frombits(b.bits)
			src = src[n:]
			continue
		default:
			if !follows {
				b = base{}
			}
			r.b = src
			dst[i] = c.long(i, code, &b, r, histograms)
			src = r.b
			continue
		}
		if follows {
			b.mantissa += unzigzag(uint64(z))
			dst[i] = b.decimal()
			continue
		}
		v := float64(z)
		dst[i] = v
		b = base{mantissa: z, bits: math.Float64bits(v)}
	}
	r.b = src
}

func (b *base) decimal() float64 {
	v := decimal(b.mantissa, b.scale)
	b.bits = math.Float64bits(v)
	return v
}

// long decodes a value of one of the other codes.
func (c *Columns) long(i int, code byte, b *base, r, histograms *reader) float64 {
	switch {
	case code == codeHist:
		c.Histograms = append(c.Histograms, HistogramAt{At: i, Histogram: histograms.histogram()})
		return 0
	case code == codeFloatHst:
		c.Histograms = append(c.Histograms, HistogramAt{At: i, FloatHistogram: histograms.floatHistogram()})
		return 0
	case len(r.b) < 8 || code >= codeSame:
		return r.value(code, true, b)
	}
	n := min(code-codeDelta+1, deltaLengths)
	if code == codeWide {
		b.mantissa, b.scale = 0, 0
	}
	z := unzigzag(binary.LittleEndian.Uint64(r.b) & (1<<(8*n) - 1))
	b.mantissa += z
	r.b = r.b[n:]
	return b.decimal()
}
