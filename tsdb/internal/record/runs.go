package record

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A column of numbers is written as runs of equal differences between
// neighbours, the first number being one to zero. A run is a uvarint whose low
// two bits say how it is to be read:
//
//	zigzag difference << 2 | runOne    one number
//	zigzag difference << 2 | runMany   then a uvarint: how many, less two
//	how many << 2 | runWide            then the difference, 8 bytes
const (
	runOne  = 0
	runMany = 1
	runWide = 2
)

// runEncoder writes a column.
type runEncoder struct {
	out   []byte
	last  int64
	delta int64
	count int // in the run that is not written yet
}

func (e *runEncoder) reset() { *e = runEncoder{out: e.out[:0]} }

// turn ends the run and begins another one.
func (e *runEncoder) turn(delta int64) {
	e.flush()
	e.delta, e.count = delta, 1
}

func (e *runEncoder) add(x int64) {
	delta := x - e.last
	e.last = x
	if delta == e.delta {
		e.count++
		return
	}
	e.turn(delta)
}

func (e *runEncoder) flush() {
	z := zigzag(e.delta)
	switch {
	case e.count == 0:
	case z >= 1<<62:
		e.out = binary.AppendUvarint(e.out, uint64(e.count)<<2|runWide)
		e.out = binary.LittleEndian.AppendUint64(e.out, uint64(e.delta))
	case e.count == 1:
		e.out = binary.AppendUvarint(e.out, z<<2|runOne)
	default:
		e.out = binary.AppendUvarint(e.out, z<<2|runMany)
		e.out = binary.AppendUvarint(e.out, uint64(e.count-2))
	}
	e.count = 0
}

// run reads a run of at most limit numbers.
func (r *reader) run(limit int) (delta int64, count int) {
	head := r.uvarint()
	n := uint64(1)
	switch head & 3 {
	case runOne:
		delta = unzigzag(head >> 2)
	case runMany:
		delta = unzigzag(head >> 2)
		if n = r.uvarint(); n < 1<<62 {
			n += 2
		}
	case runWide:
		n = head >> 2
		delta = int64(r.uint64())
	default:
		r.fail("unknown kind of run")
	}
	if r.err == nil && (n == 0 || n > uint64(limit)) {
		r.fail("a run is empty or longer than its column")
	}
	if r.err != nil {
		return 0, 0
	}
	return delta, int(n)
}

func (r *reader) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail("it ends inside a number")
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

// appendTimes decodes a column of want numbers into dst, which is empty.
func appendTimes(dst []int64, r *reader, want int) []int64 {
	last := int64(0)
	for len(r.b) > 0 {
		delta, n := r.run(want - len(dst))
		for range n {
			last += delta
			dst = append(dst, last)
		}
	}
	if r.err == nil && len(dst) != want {
		r.fail("a column is shorter than the others")
	}
	return dst
}

// appendRefs decodes the column of refs, of which there are at most limit, into
// dst, which is empty.
func appendRefs(dst []uint32, r *reader, limit int) []uint32 {
	last := int64(0)
	for len(r.b) > 0 {
		delta, n := r.run(limit - len(dst))
		if r.err != nil {
			break
		}
		if !refsFit(last, delta, n) {
			r.fail("a ref is out of range")
			break
		}
		for range n {
			last += delta
			dst = append(dst, uint32(last))
		}
	}
	return dst
}

// refsFit tells whether n steps of delta from last stay among the refs.
func refsFit(last, delta int64, n int) bool {
	size := uint64(delta)
	if delta < 0 {
		size = -size
	}
	over, distance := bits.Mul64(size, uint64(n))
	if over != 0 || distance >= 1<<32 {
		return false
	}
	end := last + delta*int64(n)
	return end >= 0 && end < 1<<32
}

// runReader reads a column number by number.
type runReader struct {
	in    reader
	last  int64
	delta int64
	left  int
}

func (r *runReader) next() int64 {
	if r.left == 0 {
		r.delta, r.left = r.in.run(math.MaxInt32)
	}
	r.left--
	r.last += r.delta
	return r.last
}

// more tells whether the column has another number.
func (r *runReader) more() bool { return r.left > 0 || len(r.in.b) > 0 }
