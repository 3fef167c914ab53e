package record

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
)

// Decoder walks the items of a Batch payload. It never panics and allocates no
// more than a small multiple of the payload's length, whatever the bytes are.
type Decoder struct {
	in   reader
	ref  uint64
	time int64
	item Item
}

// NewDecoder returns a decoder of one payload.
func NewDecoder(payload []byte) *Decoder {
	return &Decoder{in: reader{b: payload}}
}

// Reset makes d decode another payload.
func (d *Decoder) Reset(payload []byte) {
	d.in, d.ref, d.time = reader{b: payload}, 0, 0
}

// Next moves to the next item. After false, Err tells the end from damage.
func (d *Decoder) Next() bool {
	if d.in.err != nil || len(d.in.b) == 0 {
		return false
	}
	first := d.in.byte()
	d.item = Item{Kind: Kind(first & kindMask)}
	switch d.item.Kind {
	case KindFloat, KindHistogram, KindFloatHistogram:
		d.sample(first)
	case KindSeries:
		d.readRef(first)
		d.item.Labels = d.in.labels()
	case KindExemplar:
		d.exemplar(first)
	case KindMetadata:
		d.item.Family, d.item.Metadata = d.in.family()
	default:
		d.in.fail(fmt.Sprintf("unknown item kind %d", d.item.Kind))
	}
	return d.in.err == nil
}

// Item returns the current item, valid until the next call of Next; what its
// pointers lead to stays valid.
func (d *Decoder) Item() *Item { return &d.item }

// Err returns what stopped Next, nil at the end of the payload.
func (d *Decoder) Err() error { return d.in.err }

func (d *Decoder) readRef(first byte) {
	if first&flagNextRef != 0 {
		d.ref++
	} else {
		d.ref += uint64(d.in.varint())
	}
	d.item.Ref = d.ref
}

func (d *Decoder) sample(first byte) {
	d.readRef(first)
	if first&flagSameTime == 0 {
		d.time += d.in.varint()
	}
	d.item.T = d.time
	if first&flagStart != 0 {
		d.item.ST = d.time - d.in.varint()
	}
	switch d.item.Kind {
	case KindHistogram:
		d.item.Histogram = d.in.histogram()
	case KindFloatHistogram:
		d.item.FloatHistogram = d.in.floatHistogram()
	default:
		if first&flagRaw != 0 {
			d.item.Value = d.in.float()
		} else {
			d.item.Value = float64(d.in.varint())
		}
	}
}

func (d *Decoder) exemplar(first byte) {
	d.item.Ref = d.in.uvarint()
	x := exemplar.Exemplar{HasTs: first&flagHasTime != 0}
	x.Ts = d.in.varint()
	x.Value = d.in.float()
	x.Labels = d.in.labels()
	d.item.T, d.item.Exemplar = x.Ts, x
}

// reader reads primitives; its first error sticks and later reads give zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrCorrupt, why)
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail("it ends early")
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("bad uvarint")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("bad varint")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) float() float64 {
	if len(r.b) < 8 {
		r.fail("it ends inside a float")
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}

// string returns a copy, so that items outlive the payload.
func (r *reader) string() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail("a string is longer than the record")
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// count reads the number of elements that take at least size bytes each, so
// that no slice is made for more than the record can hold.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.fail("a list is longer than the record")
		return 0
	}
	return int(n)
}
