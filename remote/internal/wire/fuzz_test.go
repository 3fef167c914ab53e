package wire

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

// counted returns a counter that is reported at the end: a target that accepts
// nothing tests nothing.
func counted(f *testing.F) *atomic.Int64 {
	var n atomic.Int64
	f.Cleanup(func() { f.Logf("accepted %d inputs", n.Load()) })
	return &n
}

// isExpected reports whether err is one that Decode and the walkers promise.
func isExpected(err error) bool {
	var limit *LimitError
	return errors.Is(err, ErrMalformed) || errors.As(err, &limit)
}

// FuzzWriteV1: what the walker accepts, the generated decoder accepts and reads
// the same.
func FuzzWriteV1(f *testing.F) {
	for seed := range uint64(30) {
		msg, err := seeded(seed).v1().Marshal()
		require.NoError(f, err)
		f.Add(msg)
	}
	accepted := counted(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		got, err := dumpV1(msg)
		if err != nil {
			require.True(t, isExpected(err), "%v", err)
			return
		}
		accepted.Add(1)
		var req prompb.WriteRequest
		require.NoError(t, req.Unmarshal(msg))
		require.Equal(t, dumpV1Oracle(&req), got)
	})
}

func FuzzWriteV2(f *testing.F) {
	for seed := range uint64(30) {
		msg, err := seeded(seed).v2().Marshal()
		require.NoError(f, err)
		f.Add(msg)
	}
	accepted := counted(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		got, err := dumpV2(msg)
		if err != nil {
			require.True(t, isExpected(err), "%v", err)
			return
		}
		accepted.Add(1)
		var req writev2.Request
		require.NoError(t, req.Unmarshal(msg))
		require.Equal(t, dumpV2Oracle(&req), got)
	})
}

// FuzzSnappy: what both decoders accept they read alike, and golang/snappy
// accepts nothing that Decode refuses.
func FuzzSnappy(f *testing.F) {
	for seed := range uint64(10) {
		msg, err := seeded(seed).v1().Marshal()
		require.NoError(f, err)
		f.Add(snappy.Encode(nil, msg))
	}
	f.Add([]byte{0})
	accepted := counted(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		const limit = 1 << 20
		got, err := Decode(Snappy, nil, body, limit)
		// A padded varint in front is the one thing that only golang/snappy takes.
		n, lenErr := snappy.DecodedLen(body)
		_, width := binary.Uvarint(body)
		if lenErr != nil || n > limit || width > 5 {
			require.Error(t, err)
			return
		}
		want, wantErr := snappy.Decode(nil, body)
		if wantErr == nil {
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		}
		if err != nil {
			require.True(t, isExpected(err), "%v", err)
			return
		}
		accepted.Add(1)
		require.LessOrEqual(t, len(got), limit)
	})
}

// FuzzDecode: no encoding panics or passes its limit.
func FuzzDecode(f *testing.F) {
	for i, encoding := range encodings {
		f.Add(uint8(i), encode(f, encoding, []byte("some text, some text, some text")))
	}
	accepted := counted(f)
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		const limit = 1 << 16
		got, err := Decode(header(encodings[int(which)%len(encodings)]), nil, body, limit)
		if err != nil {
			require.True(t, isExpected(err), "%v", err)
			return
		}
		accepted.Add(1)
		require.LessOrEqual(t, len(got), limit)
	})
}
