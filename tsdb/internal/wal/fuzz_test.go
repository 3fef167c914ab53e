package wal

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// encodeSegment is the obvious writer: a header and frames one after the other.
func encodeSegment(base uint64, payloads ...[]byte) (data []byte, offsets []int) {
	data = segmentHeader{base: base, prev: base - 1}.append(nil)
	for i, p := range payloads {
		offsets = append(offsets, len(data))
		data = append(data, encodeFrame(Frame{Seq: base + uint64(i), Type: uint8(i), Payload: p})...)
	}
	return data, append(offsets, len(data))
}

// encodeFrame computes the checksum in one go over a copy, unlike put.
func encodeFrame(f Frame) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(f.Payload)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, f.Seq)
	b = append(append(b, f.Type, f.Flags), f.Payload...)
	covered := append(append(append([]byte(nil), f.Payload...), b[0:4]...), b[8:frameHeaderSize]...)
	binary.LittleEndian.PutUint32(b[4:], crcSlow(covered))
	return b
}

// crcSlow is CRC-32C bit by bit.
func crcSlow(p []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range p {
		crc ^= uint32(b)
		for range 8 {
			bit := crc & 1
			crc >>= 1
			if bit == 1 {
				crc ^= 0x82f63b78
			}
		}
	}
	return ^crc
}

func TestEncodeTwin(t *testing.T) {
	mem := vfs.NewMem()
	l := mustOpen(t, mem, "wal", Options{NextSeq: 7})
	payloads := [][]byte{nil, []byte("a"), payloadOf(3, 1000)}
	for i, p := range payloads {
		_, err := l.Append(1, uint8(i), 0, p)
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	got, err := vfs.ReadFile(mem, "wal/"+SegmentName(1))
	require.NoError(t, err)
	want, _ := encodeSegment(7, payloads...)
	copy(want, segmentHeader{base: 7, prev: 0}.append(nil)) // no frame was before
	require.True(t, bytes.Equal(want, got))
}

// scanBytes scans a log of the given segments and checks what any content must
// hold to: each frame that comes back is at its place byte for byte, numbers
// ascend, and frames and reported damage make up each segment.
func scanBytes(t *testing.T, segments ...[]byte) (seqs []uint64, report ReplayReport, err error) {
	t.Helper()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("wal"))
	accounted := make([]int64, len(segments))
	for i, data := range segments {
		require.NoError(t, vfs.WriteFileAtomic(mem, "wal/"+SegmentName(uint64(i)+1), data))
	}
	report, err = Scan(mem, "wal", func(f Frame) error {
		raw := encodeFrame(f)
		at := segments[f.Segment-1][f.Offset:]
		require.GreaterOrEqual(t, len(at), len(raw))
		require.Equal(t, raw, at[:len(raw)])
		if len(seqs) > 0 {
			require.Greater(t, f.Seq, seqs[len(seqs)-1])
		}
		seqs = append(seqs, f.Seq)
		accounted[f.Segment-1] += int64(len(raw))
		return nil
	})
	if err != nil {
		return seqs, report, err
	}
	for _, info := range report.Segments {
		if info.BaseSeq > 0 {
			accounted[info.Number-1] += segmentHeaderSize
		}
	}
	damage := report.Corruptions
	if report.Torn != nil {
		require.EqualValues(t, len(segments), report.Torn.Segment)
		damage = append(damage[:len(damage):len(damage)], *report.Torn)
	}
	for _, c := range damage {
		require.NotEmpty(t, c.Error())
		accounted[c.Segment-1] += c.Bytes
	}
	if report.CorruptionCount == len(report.Corruptions) {
		for i, data := range segments {
			require.EqualValues(t, len(data), accounted[i], "segment %d", i+1)
		}
	}
	return seqs, report, nil
}

// FuzzScan reads arbitrary bytes as the newest and as an older segment.
func FuzzScan(f *testing.F) {
	valid, offsets := encodeSegment(1, []byte("one"), nil, []byte("three"), make([]byte, 300))
	last, _ := encodeSegment(1000, []byte("x"))
	f.Add(valid)
	f.Add(valid[:offsets[3]+5])
	f.Add(valid[segmentHeaderSize:])
	f.Add(append(valid[:len(valid):len(valid)], make([]byte, 100)...))
	f.Add(append(valid[:len(valid):len(valid)], valid...))
	f.Add([]byte(magic))
	f.Add([]byte{})
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		tally.Input()
		seqs, _, err := scanBytes(t, data)
		if err != nil {
			require.ErrorIs(t, err, ErrVersion)
			return
		}
		if len(seqs) > 0 {
			tally.Accepted()
		}
		older, report, err := scanBytes(t, data, last)
		require.NoError(t, err)
		require.Subset(t, append(older, 0), seqsBelow(seqs, 1000))
		require.Nil(t, report.Torn)
	})
}

func seqsBelow(seqs []uint64, limit uint64) []uint64 {
	out := []uint64{0}
	for _, s := range seqs {
		if s < limit {
			out = append(out, s)
		}
	}
	return out
}

// FuzzDamage changes a stretch of a sound log: every frame whose bytes are
// untouched comes back, and no other.
func FuzzDamage(f *testing.F) {
	first, firstOffsets := encodeSegment(1, []byte("one"), nil, []byte("three"), payloadOf(4, 300), []byte("five"))
	second, secondOffsets := encodeSegment(6, []byte("six"), payloadOf(7, 40), []byte("eight"))
	f.Add(false, uint16(0), []byte{1})
	f.Add(false, uint16(40), []byte{0, 0, 1})
	f.Add(true, uint16(70), []byte("\xff\xff\xff\xff"))
	f.Add(false, uint16(firstOffsets[3]), make([]byte, 30))
	f.Add(false, uint16(firstOffsets[1]+4), []byte("abcdefghijklmnopqrstuvwxyz"))
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, newest bool, at uint16, xor []byte) {
		tally.Input()
		segments := [][]byte{append([]byte(nil), first...), append([]byte(nil), second...)}
		target, offsets, base := segments[0], firstOffsets, uint64(1)
		if newest {
			target, offsets, base = segments[1], secondOffsets, 6
		}
		touched := map[uint64]bool{}
		for i, x := range xor {
			pos := int(at) + i
			if x == 0 || pos >= len(target) {
				continue
			}
			target[pos] ^= x
			for j := range offsets[:len(offsets)-1] {
				if pos >= offsets[j] && pos < offsets[j+1] {
					touched[base+uint64(j)] = true
				}
			}
		}
		seqs, report, err := scanBytes(t, segments...)
		if err != nil { // the change made a sound header of another version
			require.ErrorIs(t, err, ErrVersion)
			return
		}
		var want []uint64
		for seq := uint64(1); seq <= 8; seq++ {
			if !touched[seq] {
				want = append(want, seq)
			}
		}
		require.Equal(t, want, seqs)
		if len(touched) > 0 {
			tally.Accepted()
			require.True(t, report.Torn != nil || report.CorruptionCount > 0)
		}
	})
}

// TestVersion1 reads a segment that was written by the first version.
func TestVersion1(t *testing.T) {
	var got []Frame
	report, err := Scan(vfs.OS{}, "testdata/v1", func(f Frame) error {
		f.Payload = bytes.Clone(f.Payload)
		got = append(got, f)
		return nil
	})
	require.NoError(t, err)
	require.Nil(t, report.Torn)
	require.Empty(t, report.Corruptions)
	require.Equal(t, []Frame{
		{Seq: 41, Type: 1, Flags: 2, Payload: []byte("first"), Segment: 7, Offset: 36},
		{Seq: 42, Type: 3, Flags: 0, Payload: []byte{}, Segment: 7, Offset: 59},
		{Seq: 43, Type: 255, Flags: 128, Payload: payloadOf(43, 300), Segment: 7, Offset: 77},
	}, got)
	data := segmentHeader{base: 41, prev: 39}.append(nil)
	for _, f := range got {
		data = append(data, encodeFrame(f)...)
	}
	stored, err := vfs.ReadFile(vfs.OS{}, "testdata/v1/"+SegmentName(7))
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, stored), "what is written today differs from the file kept: is it another version?")
}
