package harness

import (
	"math"

	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

// The generated encoders leave out a value of -0 as if it were 0. These
// functions encode requests as they do, with every value.

// MarshalV1 encodes a remote write 1.0 request.
func MarshalV1(req *prompb.WriteRequest) ([]byte, error) {
	var out []byte
	for i := range req.Timeseries {
		s := req.Timeseries[i]
		samples := s.Samples
		s.Samples = nil
		raw, err := s.Marshal()
		if err != nil {
			return nil, err
		}
		for _, x := range samples {
			raw = appendMessage(raw, 2, appendSample(nil, x.Value, x.Timestamp, 0))
		}
		out = appendMessage(out, 1, raw)
	}
	rest := prompb.WriteRequest{Metadata: req.Metadata}
	raw, err := rest.Marshal()
	return append(out, raw...), err
}

// MarshalV2 encodes a remote write 2.0 request.
func MarshalV2(req *writev2.Request) ([]byte, error) {
	var out []byte
	for _, symbol := range req.Symbols {
		out = appendMessage(out, 4, []byte(symbol))
	}
	for i := range req.Timeseries {
		s := req.Timeseries[i]
		samples := s.Samples
		s.Samples = nil
		raw, err := s.Marshal()
		if err != nil {
			return nil, err
		}
		for _, x := range samples {
			raw = appendMessage(raw, 2, appendSample(nil, x.Value, x.Timestamp, x.StartTimestamp))
		}
		out = appendMessage(out, 5, raw)
	}
	return out, nil
}

func appendSample(dst []byte, v float64, t, st int64) []byte {
	dst = protowire.AppendTag(dst, 1, protowire.Fixed64Type)
	dst = protowire.AppendFixed64(dst, math.Float64bits(v))
	dst = protowire.AppendTag(dst, 2, protowire.VarintType)
	dst = protowire.AppendVarint(dst, uint64(t))
	if st != 0 {
		dst = protowire.AppendTag(dst, 3, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(st))
	}
	return dst
}

func appendMessage(dst []byte, field protowire.Number, msg []byte) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return protowire.AppendBytes(dst, msg)
}
