package wire

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

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
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		tally.Input()
		got, err := dumpV1(msg)
		if err != nil {
			require.True(t, isExpected(err), "%v", err)
			return
		}
		tally.Accepted()
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
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		tally.Input()
		got, err := dumpV2(msg)
		if err != nil {
			require.True(t, isExpected(err), "%v", err)
			return
		}
		tally.Accepted()
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
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		tally.Input()
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
		tally.Accepted()
		require.LessOrEqual(t, len(got), limit)
	})
}

// FuzzDecode: no encoding panics or passes its limit.
func FuzzDecode(f *testing.F) {
	for i, encoding := range encodings {
		f.Add(uint8(i), encode(f, encoding, []byte("some text, some text, some text")))
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		tally.Input()
		const limit = 1 << 16
		got, err := Decode(header(encodings[int(which)%len(encodings)]), nil, body, limit)
		if err != nil {
			require.True(t, isExpected(err), "%v", err)
			return
		}
		tally.Accepted()
		require.LessOrEqual(t, len(got), limit)
	})
}
