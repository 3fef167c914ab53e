package wire

import (
	"encoding/binary"

	"github.com/prometheus/common/model"
)

// Members walks the members of one kind in a time series that was Split.
type Members struct {
	b    []byte
	i    int
	left int  // members not walked yet
	tag  byte // field number and wire type of the kind
	data []byte
	err  error
}

// Next moves to the next member; false at the end or at an error.
func (m *Members) Next() bool {
	for m.left > 0 && m.err == nil {
		if j := shortField(m.b, m.i, m.tag); j > 0 {
			m.data = m.b[m.i+2 : j : j]
			m.i = j
			m.left--
			return true
		}
		var f field
		if m.i, m.err = f.next(m.b, m.i); m.err != nil {
			return false
		}
		if f.num == int32(m.tag>>3) {
			m.data = f.data
			m.left--
			return true
		}
	}
	return false
}

// Data returns the message that Next found, a part of the request.
func (m *Members) Data() []byte { return m.data }

// Err returns what ended the walk early, or nil.
func (m *Members) Err() error { return m.err }

// Samples walks the float samples of a time series.
type Samples struct {
	m        Members
	hasStart bool // field 3 is the start timestamp

	// The sample that Next found. Value has the bits that were sent.
	Value       float64
	Time, Start int64 // Unix ms; Start is 0 when unknown
}

const (
	tagSampleValue = 1<<3 | typeFixed64
	tagSampleTime  = 2<<3 | typeVarint
)

// Next decodes the next sample; false at the end or at an error.
func (s *Samples) Next() bool {
	m := &s.m
	if m.left == 0 {
		return false
	}
	// The usual form: a value, a time and nothing else.
	if b := m.b[m.i:]; m.err == nil && len(b) > timeAt && b[0] == m.tag && b[2] == tagSampleValue && b[11] == tagSampleTime {
		// The word that ends with the time begins inside the value.
		end := 2 + int(b[1])
		if n := end - timeAt; n >= 1 && n <= 8 && end <= len(b) {
			word := binary.LittleEndian.Uint64(b[end-8:]) >> (64 - 8*n)
			if t, ok := varint8(word, n); ok {
				s.Value, s.Time, s.Start = float64At(b[3:]), int64(t), 0
				m.i, m.left = m.i+end, m.left-1
				return true
			}
		}
	}
	return s.nextAny()
}

// timeAt is where the time begins in a sample of the usual form: behind the tag
// and the length of the sample, the value with its tag, and the tag of the time.
const timeAt = 2 + 9 + 1

// varint8 decodes the varint in a word of which only the low n bytes are set, 1
// to 8. It reports false if the varint is shorter or longer.
func varint8(x uint64, n int) (uint64, bool) {
	const more = 0x8080808080808080
	if x&more != more>>(72-8*n) {
		return 0, false
	}
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
	return x, true
}

// nextAny is Next for samples of all forms, and its slow twin.
func (s *Samples) nextAny() bool {
	if !s.m.Next() {
		return false
	}
	s.m.err = s.decode(s.m.data)
	return s.m.err == nil
}

func (s *Samples) decode(msg []byte) error {
	s.Value, s.Time, s.Start = 0, 0, 0
	var f field
	for i := 0; i < len(msg); {
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		switch {
		case f.num == 1:
			s.Value, err = f.float(), f.want(typeFixed64, "Sample.value")
		case f.num == 2:
			s.Time, err = int64(f.u), f.want(typeVarint, "Sample.timestamp")
		case f.num == 3 && s.hasStart:
			s.Start, err = int64(f.u), f.want(typeVarint, "Sample.start_timestamp")
		}
		if err != nil {
			return err
		}
		i = j
	}
	return nil
}

// Err returns what ended the walk early, or nil. It wraps ErrMalformed.
func (s *Samples) Err() error { return s.m.err }

// MetricType is the number by which both protocols name a metric's type.
type MetricType int32

// Model returns the type's Prometheus name, "unknown" for numbers that have
// none.
func (t MetricType) Model() model.MetricType {
	switch t {
	case 1:
		return model.MetricTypeCounter
	case 2:
		return model.MetricTypeGauge
	case 3:
		return model.MetricTypeHistogram
	case 4:
		return model.MetricTypeGaugeHistogram
	case 5:
		return model.MetricTypeSummary
	case 6:
		return model.MetricTypeInfo
	case 7:
		return model.MetricTypeStateset
	default:
		return model.MetricTypeUnknown
	}
}
