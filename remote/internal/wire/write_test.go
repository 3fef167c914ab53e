package wire

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

func seeded(seed uint64) gen { return gen{rand.New(rand.NewPCG(seed, 1))} }

// TestV1MatchesGeneratedDecoder: random requests, as marshalled and with their
// fields in any order between unknown ones, are what the generated decoder says.
func TestV1MatchesGeneratedDecoder(t *testing.T) {
	// Members of TimeSeries whose own fields are shuffled too: all of them.
	sub := map[int32]map[int32]bool{1: {1: true, 2: true, 3: true, 4: true}, 3: {}}
	for seed := range uint64(400) {
		g := seeded(seed)
		msg, err := g.v1().Marshal()
		require.NoError(t, err)
		var req prompb.WriteRequest
		require.NoError(t, req.Unmarshal(msg))
		got, err := dumpV1(msg)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, dumpV1Oracle(&req), got, "seed %d", seed)

		msg = g.shuffle(msg, sub, nil)
		var shuffled prompb.WriteRequest
		require.NoError(t, shuffled.Unmarshal(msg))
		got, err = dumpV1(msg)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, dumpV1Oracle(&shuffled), got, "seed %d", seed)
	}
}

func TestV2MatchesGeneratedDecoder(t *testing.T) {
	sub := map[int32]map[int32]bool{5: {2: true, 3: true, 4: true, 5: true}}
	for seed := range uint64(400) {
		g := seeded(seed)
		msg, err := g.v2().Marshal()
		require.NoError(t, err)
		var req writev2.Request
		require.NoError(t, req.Unmarshal(msg))
		got, err := dumpV2(msg)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, dumpV2Oracle(&req), got, "seed %d", seed)

		msg = g.shuffle(msg, sub, nil)
		var shuffled writev2.Request
		require.NoError(t, shuffled.Unmarshal(msg))
		got, err = dumpV2(msg)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, dumpV2Oracle(&shuffled), got, "seed %d", seed)
	}
}

// TestTruncated cuts requests at each byte: the walkers agree with the generated
// decoders on which cuts still are messages.
func TestTruncated(t *testing.T) {
	var whole, broken int
	messages := uint64(12)
	if raceDetector {
		messages = 3
	}
	for seed := range messages {
		g := seeded(1000 + seed)
		v1, err := g.v1().Marshal()
		require.NoError(t, err)
		for n := range v1 {
			var req prompb.WriteRequest
			want := req.Unmarshal(v1[:n])
			_, err := dumpV1(v1[:n])
			require.Equal(t, want == nil, err == nil, "seed %d cut %d: generated %v, walker %v", seed, n, want, err)
			if err != nil {
				require.ErrorIs(t, err, ErrMalformed)
				broken++
			} else {
				whole++
			}
		}
		v2, err := g.v2().Marshal()
		require.NoError(t, err)
		for n := range v2 {
			var req writev2.Request
			want := req.Unmarshal(v2[:n])
			_, err := dumpV2(v2[:n])
			require.Equal(t, want == nil, err == nil, "seed %d cut %d: generated %v, walker %v", seed, n, want, err)
		}
	}
	require.NotZero(t, whole)
	require.NotZero(t, broken)
}

// TestV2UnpackedRefs: references one by one, mixed with packed ones, and the
// last of a repeated scalar.
func TestV2UnpackedRefs(t *testing.T) {
	ts := []byte{0x08, 1, 0x0a, 2, 2, 3, 0x08, 0x84, 0x02}
	ts = append(ts, 0x2a, 4, 0x08, 1, 0x18, 7)          // metadata: counter, help 7
	ts = append(ts, 0x2a, 4, 0x08, 2, 0x20, 9)          // again: gauge, unit 9
	ts = append(ts, 0x12, 6, 0x10, 1, 0x10, 2, 0x18, 5) // sample: t 1, t 2, st 5
	msg := appendBytesField(nil, 5, ts)
	msg = appendBytesField(msg, 4, []byte("later"))
	got, err := dumpV2(msg)
	require.NoError(t, err)
	require.Equal(t, "symbols [\"later\"]\nseries [1 2 3 260] metadata 2 7 9\n  sample 0000000000000000 t=2 st=5\n", got)
	var req writev2.Request
	require.NoError(t, req.Unmarshal(msg))
	require.Equal(t, dumpV2Oracle(&req), got)
}

func TestSymbolLimit(t *testing.T) {
	var msg []byte
	for range 5 {
		msg = appendBytesField(msg, 4, nil)
	}
	var r V2Request
	require.NoError(t, r.Reset(msg, 5))
	var limit *LimitError
	require.ErrorAs(t, r.Reset(msg, 4), &limit)
	require.EqualError(t, limit, "symbols per request is over the limit of 4")
}

func TestBucketLimit(t *testing.T) {
	h := prompb.Histogram{PositiveDeltas: make([]int64, 90), NegativeCounts: make([]float64, 9), CustomValues: []float64{1}}
	msg, err := h.Marshal()
	require.NoError(t, err)
	var d Histogram
	require.NoError(t, d.Decode(msg, false, 100))
	var limit *LimitError
	require.ErrorAs(t, d.Decode(msg, false, 99), &limit)
	require.Equal(t, LimitBuckets, limit.Limit)
}

// TestWalkAllocatesNothing: series and float samples cost no memory.
func TestWalkAllocatesNothing(t *testing.T) {
	v1, v2 := benchV1(t, 50), benchV2(t, 50)
	var ts1 V1Series
	var ts2 V2Series
	var r2 V2Request
	require.NoError(t, r2.Reset(v2, 1<<20))
	var sum float64
	require.Zero(t, testing.AllocsPerRun(100, func() { sum += walkV1(v1, &ts1) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { sum += walkV2(v2, &r2, &ts2) }))
	require.NotZero(t, sum)
}

// TestNextMatchesNextAny compares the fast path of next with its slow twin.
func TestNextMatchesNextAny(t *testing.T) {
	g := seeded(99)
	inputs := 200_000
	if raceDetector {
		inputs = 20_000
	}
	for range inputs {
		size := g.IntN(12)
		if g.IntN(20) == 0 {
			size = g.IntN(500) // for lengths of two bytes
		}
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(g.Uint32())
			if g.IntN(2) == 0 {
				b[i] &= 0x1f
			}
		}
		if size > 130 {
			b[0], b[2] = b[0]&0x78|typeBytes, b[2]&3
		}
		var fast, slow field
		i, err := fast.next(b, 0)
		j, want := slow.nextAny(b, 0)
		require.Equal(t, want, err, "%x", b)
		require.Equal(t, j, i, "%x", b)
		if err == nil && fast.typ == typeBytes {
			require.Equal(t, slow, fast, "%x", b)
		}
	}
}

// TestVarint8 holds the quick way to its slow twin.
func TestVarint8(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 6))
	accepted := 0
	for range 200_000 {
		n := 1 + g.IntN(8)
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], g.Uint64()|0x8080808080808080)
		if g.IntN(3) > 0 {
			b[n-1] &= 0x7f
		}
		if g.IntN(4) == 0 {
			b[g.IntN(8)] &= 0x7f
		}
		clear(b[n:])
		want, end := uvarint(b[:n], 0)
		got, ok := varint8(binary.LittleEndian.Uint64(b[:]), n)
		require.Equal(t, end == n, ok, "% x", b[:n])
		if ok {
			accepted++
			require.Equal(t, want, got, "% x", b[:n])
		}
	}
	require.Greater(t, accepted, 50_000)
}
