package read

import (
	"errors"
	"fmt"

	"github.com/VictoriaMetrics/easyproto"
)

// A request of empty messages is a hundred times larger in memory than on the
// wire; these bounds are far above what a client asks at once.
const (
	maxQueries       = 1000
	maxMatchers      = 10_000 // of all queries together
	maxResponseTypes = 1000
)

// wireRequest is a prometheus.ReadRequest without the hints, which do not change
// the answer. Its strings alias the decoded buffer.
type wireRequest struct {
	accepted []int32
	queries  []wireQuery
	matchers int // of all queries
}

type wireQuery struct {
	mint, maxt int64
	matchers   []wireMatcher
}

type wireMatcher struct {
	typ         int32
	name, value string
}

var errWire = errors.New("field has the wrong wire type or is cut short")

// decodeRequest is equal to unmarshalling into prompb.ReadRequest, but for the
// bounds above.
func decodeRequest(b []byte) (*wireRequest, error) {
	r := &wireRequest{}
	err := eachField(b, func(fc *easyproto.FieldContext) error {
		switch fc.FieldNum {
		case 1:
			data, ok := fc.MessageData()
			if !ok {
				return errWire
			}
			return r.addQuery(data)
		case 2:
			return r.addAccepted(fc)
		}
		return nil
	})
	return r, err
}

func eachField(b []byte, f func(*easyproto.FieldContext) error) error {
	var fc easyproto.FieldContext
	for len(b) > 0 {
		var err error
		if b, err = fc.NextField(b); err != nil {
			return err
		}
		if err := f(&fc); err != nil {
			return fmt.Errorf("field %d: %w", fc.FieldNum, err)
		}
	}
	return nil
}

func (r *wireRequest) addAccepted(fc *easyproto.FieldContext) error {
	if packed, ok := fc.Bytes(); ok && len(packed) > 10*maxResponseTypes {
		return fmt.Errorf("more than %d accepted response types", maxResponseTypes)
	}
	var ok bool
	if r.accepted, ok = fc.UnpackInt32s(r.accepted); !ok {
		return errWire
	}
	if len(r.accepted) > maxResponseTypes {
		return fmt.Errorf("more than %d accepted response types", maxResponseTypes)
	}
	return nil
}

func (r *wireRequest) addQuery(b []byte) error {
	if len(r.queries) == maxQueries {
		return fmt.Errorf("more than %d queries", maxQueries)
	}
	var q wireQuery
	err := eachField(b, func(fc *easyproto.FieldContext) error {
		ok := true
		switch fc.FieldNum {
		case 1:
			q.mint, ok = fc.Int64()
		case 2:
			q.maxt, ok = fc.Int64()
		case 3:
			if r.matchers++; r.matchers > maxMatchers {
				return fmt.Errorf("more than %d matchers", maxMatchers)
			}
			var data []byte
			if data, ok = fc.MessageData(); ok {
				m, err := decodeMatcher(data)
				q.matchers = append(q.matchers, m)
				return err
			}
		}
		if !ok {
			return errWire
		}
		return nil
	})
	r.queries = append(r.queries, q)
	return err
}

func decodeMatcher(b []byte) (m wireMatcher, err error) {
	err = eachField(b, func(fc *easyproto.FieldContext) error {
		ok := true
		switch fc.FieldNum {
		case 1:
			m.typ, ok = fc.Int32()
		case 2:
			m.name, ok = fc.String()
		case 3:
			m.value, ok = fc.String()
		}
		if !ok {
			return errWire
		}
		return nil
	})
	return m, err
}
