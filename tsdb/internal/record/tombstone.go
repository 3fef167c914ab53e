package record

import (
	"encoding/binary"

	"github.com/prometheus/prometheus/model/labels"
)

// Tombstone is a delete: it hides the samples in [MinT, MaxT] of the series
// that all matchers match.
type Tombstone struct {
	MinT, MaxT int64
	Matchers   []Matcher
}

// Matcher is a label matcher as it is written down.
type Matcher struct {
	Type        labels.MatchType
	Name, Value string
}

// AppendTombstone encodes t at the end of dst.
func AppendTombstone(dst []byte, t Tombstone) []byte {
	dst = binary.AppendVarint(dst, t.MinT)
	dst = binary.AppendVarint(dst, t.MaxT)
	dst = binary.AppendUvarint(dst, uint64(len(t.Matchers)))
	for _, m := range t.Matchers {
		dst = append(dst, byte(m.Type))
		dst = appendString(dst, m.Name)
		dst = appendString(dst, m.Value)
	}
	return dst
}

// DecodeTombstone decodes the payload of a Tombstone frame.
func DecodeTombstone(payload []byte) (Tombstone, error) {
	r := reader{b: payload}
	t := Tombstone{MinT: r.varint(), MaxT: r.varint()}
	n := r.count(3)
	for i := 0; i < n && r.err == nil; i++ {
		t.Matchers = append(t.Matchers, Matcher{
			Type: labels.MatchType(r.byte()), Name: r.string(), Value: r.string(),
		})
	}
	if r.err == nil && len(r.b) > 0 {
		r.fail("bytes after the tombstone")
	}
	return t, r.err
}
