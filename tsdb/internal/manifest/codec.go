package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// The fields of an edit. A reader refuses a tag that it does not know: it could
// not tell what the state is without it.
const (
	tagRemovePart = iota + 1
	tagAddPart
	tagRemoveTombstone
	tagAddTombstone
	tagSetMetadata
	tagFlushedSeq
	tagNextPartID
	tagQuarantine
	tagLabelHashKey
)

var (
	errUnknownTag = errors.New("unknown tag")
	errCutShort   = errors.New("value cut short")
	errLeftOver   = errors.New("bytes left over")
)

// record is an edit as it is stored. Only the first one of a file has a key.
type record struct {
	Edit
	key *[16]byte
}

// snapshot returns the record that makes s of an empty state.
func (s State) snapshot() record {
	key := s.LabelHashKey
	r := record{key: &key, Edit: Edit{
		AddTombstones: s.Tombstones,
		FlushedSeq:    s.FlushedSeq,
		NextPartID:    s.NextPartID,
		Quarantine:    s.Quarantined,
	}}
	for _, id := range slices.Sorted(maps.Keys(s.Parts)) {
		r.AddParts = append(r.AddParts, s.Parts[id])
	}
	for _, family := range slices.Sorted(maps.Keys(s.Metadata)) {
		r.SetMetadata = append(r.SetMetadata, s.Metadata[family]...)
	}
	return r
}

// appendRecord appends the fields of r, each as tag, length and value.
func appendRecord(dst []byte, r record) []byte {
	var v []byte
	field := func(tag uint64, value []byte) {
		dst = binary.AppendUvarint(dst, tag)
		dst = appendString(dst, value)
		v = value[:0]
	}
	if r.key != nil {
		field(tagLabelHashKey, append(v, r.key[:]...))
	}
	for _, id := range r.RemoveParts {
		field(tagRemovePart, binary.AppendUvarint(v, id))
	}
	for _, p := range r.AddParts {
		field(tagAddPart, appendPart(v, p))
	}
	for _, seq := range r.RemoveTombstones {
		field(tagRemoveTombstone, binary.AppendUvarint(v, seq))
	}
	for _, t := range r.AddTombstones {
		field(tagAddTombstone, appendTombstone(v, t))
	}
	for _, m := range r.SetMetadata {
		v = appendString(v, m.Family)
		v = appendString(v, m.Type)
		v = appendString(v, m.Help)
		field(tagSetMetadata, appendString(v, m.Unit))
	}
	if r.FlushedSeq > 0 {
		field(tagFlushedSeq, binary.AppendUvarint(v, r.FlushedSeq))
	}
	if r.NextPartID > 0 {
		field(tagNextPartID, binary.AppendUvarint(v, r.NextPartID))
	}
	for _, id := range slices.Sorted(maps.Keys(r.Quarantine)) {
		field(tagQuarantine, appendString(binary.AppendUvarint(v, id), r.Quarantine[id]))
	}
	return dst
}

func appendString[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendPart(dst []byte, p Part) []byte {
	dst = binary.AppendUvarint(dst, p.ID)
	dst = appendString(dst, p.Month)
	dst = binary.AppendVarint(dst, p.MinT)
	dst = binary.AppendVarint(dst, p.MaxT)
	for _, n := range []uint64{p.SeqMin, p.SeqMax, p.DeletedSeq, p.Samples, p.Series, p.Bytes, uint64(p.Format)} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func appendTombstone(dst []byte, t Tombstone) []byte {
	dst = binary.AppendUvarint(dst, t.Seq)
	dst = binary.AppendVarint(dst, t.MinT)
	dst = binary.AppendVarint(dst, t.MaxT)
	dst = binary.AppendUvarint(dst, uint64(len(t.Matchers)))
	for _, m := range t.Matchers {
		dst = append(dst, m.Type)
		dst = appendString(dst, m.Name)
		dst = appendString(dst, m.Value)
	}
	return dst
}

// decoder takes values off b; after the first error it returns zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errCutShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(errCutShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

// bytes returns n bytes, which alias the input.
func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail(errCutShort)
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) string() string { return string(d.bytes(d.uvarint())) }

func (d *decoder) byte() byte {
	if v := d.bytes(1); len(v) == 1 {
		return v[0]
	}
	return 0
}

// decodeRecord is the inverse of appendRecord. What it returns does not alias b.
func decodeRecord(b []byte) (record, error) {
	var r record
	d := decoder{b: b}
	for len(d.b) > 0 {
		tag := d.uvarint()
		v := decoder{b: d.bytes(d.uvarint())}
		if d.err == nil {
			r.decodeField(tag, &v)
			if v.err == nil && len(v.b) > 0 {
				v.fail(fmt.Errorf("%w: %d", errLeftOver, len(v.b)))
			}
		}
		if err := errors.Join(d.err, v.err); err != nil {
			return record{}, fmt.Errorf("field %d: %w", tag, err)
		}
	}
	return r, nil
}

func (r *record) decodeField(tag uint64, d *decoder) {
	switch tag {
	case tagRemovePart:
		r.RemoveParts = append(r.RemoveParts, d.uvarint())
	case tagAddPart:
		r.AddParts = append(r.AddParts, d.part())
	case tagRemoveTombstone:
		r.RemoveTombstones = append(r.RemoveTombstones, d.uvarint())
	case tagAddTombstone:
		r.AddTombstones = append(r.AddTombstones, d.tombstone())
	case tagSetMetadata:
		r.SetMetadata = append(r.SetMetadata, Metadata{Family: d.string(), Type: d.string(), Help: d.string(), Unit: d.string()})
	case tagFlushedSeq:
		r.FlushedSeq = d.uvarint()
	case tagNextPartID:
		r.NextPartID = d.uvarint()
	case tagQuarantine:
		if r.Quarantine == nil {
			r.Quarantine = map[uint64]string{}
		}
		id := d.uvarint()
		r.Quarantine[id] = d.string()
	case tagLabelHashKey:
		r.key = new([16]byte)
		copy(r.key[:], d.bytes(uint64(len(r.key))))
	default:
		d.fail(fmt.Errorf("%w %d: written by a newer build?", errUnknownTag, tag))
	}
}

func (d *decoder) part() Part {
	p := Part{ID: d.uvarint(), Month: d.string(), MinT: d.varint(), MaxT: d.varint()}
	for _, n := range []*uint64{&p.SeqMin, &p.SeqMax, &p.DeletedSeq, &p.Samples, &p.Series, &p.Bytes} {
		*n = d.uvarint()
	}
	format := d.uvarint()
	p.Format = uint32(format)
	if uint64(p.Format) != format {
		d.fail(fmt.Errorf("part format %d: too large", format))
	}
	return p
}

func (d *decoder) tombstone() Tombstone {
	t := Tombstone{Seq: d.uvarint(), MinT: d.varint(), MaxT: d.varint()}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- { // grows by what is there, not by what n claims
		t.Matchers = append(t.Matchers, Matcher{Type: d.byte(), Name: d.string(), Value: d.string()})
	}
	return t
}
