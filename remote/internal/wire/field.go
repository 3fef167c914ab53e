package wire

import (
	"encoding/binary"
	"math"
)

// Wire types of protobuf.
const (
	typeVarint     = 0
	typeFixed64    = 1
	typeBytes      = 2
	typeStartGroup = 3
	typeEndGroup   = 4
	typeFixed32    = 5
)

// field is one field of a message, cut out but not interpreted.
type field struct {
	num  int32
	typ  uint8
	u    uint64 // value of a varint, fixed64 or fixed32
	data []byte // content of a bytes field, part of the message
}

// uvarint reads a varint of at most 10 bytes at b[i:] and returns the index
// after it, or -1 when it is cut short or too long. Bits past 64 are dropped.
func uvarint(b []byte, i int) (uint64, int) {
	var u uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if uint(i) >= uint(len(b)) {
			return 0, -1
		}
		c := b[i]
		i++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return u, i
		}
	}
	return 0, -1
}

// next cuts the field at b[i:] out of b into f and returns the index after it.
func (f *field) next(b []byte, i int) (int, error) {
	// The usual form: a member with a one-byte tag and fewer than 16,384 bytes.
	if len(b)-i >= 3 && b[i]&(0x80|7) == typeBytes && b[i] > 7 && b[i+1]&b[i+2] < 0x80 {
		from, n := i+2, int(b[i+1])
		if n >= 0x80 {
			from, n = i+3, n&0x7f|int(b[i+2])<<7
		}
		if j := from + n; j <= len(b) {
			f.num, f.typ, f.data = int32(b[i]>>3), typeBytes, b[from:j:j]
			return j, nil
		}
	}
	return f.nextAny(b, i)
}

// nextAny is next for fields of all forms, and its slow twin.
func (f *field) nextAny(b []byte, i int) (int, error) {
	tag, j := uvarint(b, i)
	if j < 0 {
		return 0, malformed("protobuf: tag cut short at byte %d", i)
	}
	f.num, f.typ, f.data = int32(tag>>3), uint8(tag&7), nil
	if f.num <= 0 {
		return 0, malformed("protobuf: field number %d at byte %d", f.num, i)
	}
	switch f.typ {
	case typeVarint:
		f.u, j = uvarint(b, j)
	case typeFixed64:
		if len(b)-j < 8 {
			return 0, malformed("protobuf: field %d cut short at byte %d", f.num, i)
		}
		f.u = binary.LittleEndian.Uint64(b[j:])
		j += 8
	case typeBytes:
		var n uint64
		n, j = uvarint(b, j)
		if j >= 0 && n > uint64(len(b)-j) {
			return 0, malformed("protobuf: field %d at byte %d claims %d bytes, %d are left", f.num, i, n, len(b)-j)
		}
		if j >= 0 {
			f.data = b[j : j+int(n) : j+int(n)]
			j += int(n)
		}
	case typeFixed32:
		if len(b)-j < 4 {
			return 0, malformed("protobuf: field %d cut short at byte %d", f.num, i)
		}
		f.u = uint64(binary.LittleEndian.Uint32(b[j:]))
		j += 4
	case typeStartGroup:
		return skipGroup(b, j)
	default:
		return 0, malformed("protobuf: wire type %d at byte %d", f.typ, i)
	}
	if j < 0 {
		return 0, malformed("protobuf: field %d cut short at byte %d", f.num, i)
	}
	return j, nil
}

// skipGroup returns the index after the group whose start tag ended at i.
// Groups may nest; the depth is counted, not recursed.
func skipGroup(b []byte, i int) (int, error) {
	for depth := 1; depth > 0; {
		tag, j := uvarint(b, i)
		if j < 0 {
			return 0, malformed("protobuf: group cut short at byte %d", i)
		}
		switch tag & 7 {
		case typeVarint:
			_, j = uvarint(b, j)
		case typeFixed64:
			j += 8
		case typeBytes:
			var n uint64
			if n, j = uvarint(b, j); j >= 0 && n <= uint64(len(b)-j) {
				j += int(n)
			} else {
				j = -1
			}
		case typeStartGroup:
			depth++
		case typeEndGroup:
			depth--
		case typeFixed32:
			j += 4
		default:
			j = -1
		}
		if j < 0 || j > len(b) {
			return 0, malformed("protobuf: broken group at byte %d", i)
		}
		i = j
	}
	return i, nil
}

// want checks the wire type of a field that the caller knows.
func (f *field) want(typ uint8, name string) error {
	if f.typ != typ {
		return malformed("protobuf: wire type %d for %s, want %d", f.typ, name, typ)
	}
	return nil
}

func (f *field) float() float64 { return math.Float64frombits(f.u) }

// float64At reads the 8 bytes that b begins with.
func float64At(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

// sint32 undoes the zigzag coding of a 32-bit number.
func sint32(u uint64) int32 {
	v := uint32(u)
	return int32(v>>1) ^ -int32(v&1)
}

// sint64 undoes the zigzag coding of a 64-bit number.
func sint64(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
