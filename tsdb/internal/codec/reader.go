package codec

import "encoding/binary"

// Reader walks foreign bytes. After the first read that the bytes do not allow,
// every further one yields zero and Bad tells so: callers look at it before they
// use anything. The zero value reads nothing. It keeps no copy: what Take and
// Rest return is part of the bytes it was made of.
type Reader struct {
	b   []byte
	bad bool
}

// NewReader returns a Reader of b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Fail makes r bad: for callers that do not like what they read.
func (r *Reader) Fail() { r.b, r.bad = nil, true }

// Bad tells whether anything read so far was not there.
func (r *Reader) Bad() bool { return r.bad }

// Rest returns what is left to read.
func (r *Reader) Rest() []byte { return r.b }

// Len returns how many bytes are left to read.
func (r *Reader) Len() int { return len(r.b) }

// Skip goes on with rest, the end of what is left, as decoders of Rest return
// it; without ok r is bad.
func (r *Reader) Skip(rest []byte, ok bool) {
	if r.b = rest; !ok {
		r.Fail()
	}
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.b) == 0 {
		r.Fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// Uvarint reads an unsigned varint of protocol buffers.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Varint reads a zigzagged number.
func (r *Reader) Varint() int64 { return Unzigzag(r.Uvarint()) }

// Uint64 reads eight bytes, little endian.
func (r *Reader) Uint64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Take reads n bytes, without a copy; nil if there are fewer.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.Fail()
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

// Count reads a number of things that take at least size bytes each of what is
// left, so that a slice made of it is paid for by the input.
func (r *Reader) Count(size int) int {
	n := r.Uvarint()
	if n > uint64(len(r.b)/size) {
		r.Fail()
		return 0
	}
	return int(n)
}
