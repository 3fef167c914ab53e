package wire

import "github.com/prometheus/common/model"

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
	if !s.m.Next() {
		return false
	}
	msg := s.m.data
	// The usual form: a value, a time and nothing else.
	if len(msg) >= 11 && msg[0] == tagSampleValue && msg[9] == tagSampleTime {
		if t, j := uvarint(msg, 10); j == len(msg) {
			s.Value = float64At(msg[1:])
			s.Time, s.Start = int64(t), 0
			return true
		}
	}
	s.m.err = s.decode(msg)
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
