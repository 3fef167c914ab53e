package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// encode is the slow twin of Decode: it makes bodies with other libraries.
func encode(t testing.TB, encoding string, content []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "", Identity:
		return content
	case Snappy:
		return snappy.Encode(nil, content)
	case Zstd:
		e, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		return e.EncodeAll(content, nil)
	case "zstd stream": // the size is not in the header
		e, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		w = e
	case Gzip:
		w = gzip.NewWriter(&b)
	case Deflate:
		w = zlib.NewWriter(&b)
	case "raw deflate":
		f, err := flate.NewWriter(&b, 5)
		require.NoError(t, err)
		w = f
	}
	// Two writes: a streaming encoder then cannot know the size.
	for _, part := range [][]byte{content[:len(content)/2], content[len(content)/2:]} {
		_, err := w.Write(part)
		require.NoError(t, err)
		if f, ok := w.(interface{ Flush() error }); ok {
			require.NoError(t, f.Flush())
		}
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

var encodings = []string{"", Identity, Snappy, Zstd, "zstd stream", Gzip, Deflate, "raw deflate"}

// header is the Content-Encoding of one of the encodings above.
func header(encoding string) string {
	switch encoding {
	case "zstd stream":
		return Zstd
	case "raw deflate":
		return Deflate
	}
	return encoding
}

func TestDecode(t *testing.T) {
	g := seeded(7)
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(g.Uint32())
	}
	contents := [][]byte{{}, {1}, []byte("some text, some text, some text"), bytes.Repeat([]byte("abcd"), 300_000), noise}
	for _, encoding := range encodings {
		for _, content := range contents {
			src := encode(t, encoding, content)
			got, err := Decode(header(encoding), []byte("kept"), src, len(content))
			require.NoError(t, err, "%s of %d bytes", encoding, len(content))
			require.Equal(t, "kept", string(got[:4]))
			require.True(t, bytes.Equal(content, got[4:]), "%s of %d bytes", encoding, len(content))
			if len(content) == 0 {
				continue
			}
			// A limit one byte too small.
			got, err = Decode(header(encoding), []byte("kept"), src, len(content)-1)
			var limit *LimitError
			require.ErrorAs(t, err, &limit, "%s of %d bytes", encoding, len(content))
			require.Equal(t, LimitDecoded, limit.Limit)
			require.Equal(t, len(content)-1, limit.Max)
			require.Equal(t, "kept", string(got))
		}
	}
}

func TestDecodeConcatenated(t *testing.T) {
	for _, encoding := range []string{Zstd, "zstd stream", Gzip} {
		part := encode(t, encoding, bytes.Repeat([]byte("ab"), 50_000))
		got, err := Decode(header(encoding), nil, append(part[:len(part):len(part)], part...), 200_000)
		require.NoError(t, err, encoding)
		require.Len(t, got, 200_000)
	}
}

func TestDecodeTruncated(t *testing.T) {
	content := []byte("some text, some text, some text and more of the same text")
	for _, encoding := range encodings[2:] {
		src := encode(t, encoding, content)
		for n := range src {
			_, err := Decode(header(encoding), nil, src[:n], 1<<20)
			require.ErrorIs(t, err, ErrMalformed, "%s cut at %d of %d", encoding, n, len(src))
		}
	}
}

func TestDecodeUnknownEncoding(t *testing.T) {
	_, err := Decode("br", nil, []byte("x"), 10)
	require.EqualError(t, err, `content encoding "br" is not supported, want snappy, zstd, gzip, deflate or none`)
}

// TestClaims: what a header claims is checked before memory is reserved for it.
func TestClaims(t *testing.T) {
	snappyClaim := func(n uint64) []byte { return append(binary.AppendUvarint(nil, n), make([]byte, 35)...) }
	zstdClaim := func(n uint32) []byte { // magic, single segment with a 4-byte size, then a raw block
		return append(binary.LittleEndian.AppendUint32([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0}, n), make([]byte, 31)...)
	}
	const limit = 32 << 20
	f := func(encoding string, body []byte, want string) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, sizeErr := DecodedSize(encoding, body, limit)
		_, err := Decode(encoding, nil, body, limit)
		runtime.ReadMemStats(&after)
		require.EqualError(t, err, want)
		require.EqualError(t, sizeErr, want)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	}
	f(Snappy, snappyClaim(2_700_000_000), "decoded body size 2700000000 is over the limit of 33554432")
	f(Snappy, snappyClaim(30<<20), "malformed input: snappy block: claims 31457280 bytes of content, more than its 39 bytes can hold")
	f(Zstd, zstdClaim(4_000_000_000), "decoded body size 4000000000 is over the limit of 33554432")
	f(Zstd, zstdClaim(30<<20), "malformed input: zstd: claims 31457280 bytes of content, more than its 40 bytes can hold")
}

// TestBombs: bodies that really decode to more than the limit stop at it.
func TestBombs(t *testing.T) {
	size := 256 << 20
	if raceDetector {
		size = 16 << 20
	}
	zeros := make([]byte, size)
	for _, encoding := range []string{"zstd stream", Gzip, Deflate, "raw deflate"} {
		src := encode(t, encoding, zeros)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(header(encoding), nil, src, 8<<20)
		runtime.ReadMemStats(&after)
		var limit *LimitError
		require.ErrorAs(t, err, &limit, encoding)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(48<<20), encoding) // while it grows
	}
}

func TestDecodedSize(t *testing.T) {
	content := make([]byte, 5000)
	f := func(encoding string, wantKnown bool) {
		t.Helper()
		size, known, err := DecodedSize(header(encoding), encode(t, encoding, content), 5000)
		require.NoError(t, err)
		require.Equal(t, wantKnown, known, encoding)
		if known {
			require.Equal(t, 5000, size, encoding)
		}
	}
	f("", true)
	f(Snappy, true)
	f(Zstd, true)
	f("zstd stream", false)
	f(Gzip, false)
}

func TestBuffer(t *testing.T) {
	b := NewBuffer(10)
	require.GreaterOrEqual(t, cap(b.B), 10)
	b.B = append(b.B, "hello"...)
	b.Grow(100_000)
	require.Equal(t, "hello", string(b.B))
	require.GreaterOrEqual(t, cap(b.B)-len(b.B), 100_000)
	b.Release()
	big := NewBuffer(200 << 20)
	require.GreaterOrEqual(t, cap(big.B), 200<<20)
	big.Release()
	(*Buffer)(nil).Release()
	for size := range 70_000 {
		if size%77 == 0 {
			b := NewBuffer(size)
			require.Empty(t, b.B)
			require.GreaterOrEqual(t, cap(b.B), size)
			b.Release()
		}
	}
}
