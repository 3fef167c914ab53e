package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

func mustOpen(t testing.TB, fsys vfs.FS) *Manifest {
	t.Helper()
	m, err := Open(fsys, ".")
	require.NoError(t, err)
	return m
}

func partOf(id uint64) Part {
	return Part{
		ID: id, Month: "2026-11", MinT: -5 * int64(id), MaxT: int64(id) << 40, SeqMin: id, SeqMax: id * 1000, DeletedSeq: id * 900,
		Samples: id << 33, Series: id * 7, Bytes: id << 20, Format: uint32(id),
	}
}

func tombstoneOf(seq uint64) Tombstone {
	return Tombstone{Seq: seq, MinT: -1 << 50, MaxT: int64(seq), Matchers: []Matcher{
		{Type: 0, Name: "__name__", Value: "up"}, {Type: 3, Name: "näme", Value: strings.Repeat("x", int(seq))},
	}}
}

// randomEdit returns an edit that fits s.
func randomEdit(rng *rand.Rand, s State) Edit {
	var e Edit
	switch rng.Intn(7) {
	case 0, 1:
		e.AddParts = []Part{partOf(s.NextPartID), partOf(s.NextPartID + 1)}
		e.FlushedSeq = s.FlushedSeq + uint64(rng.Intn(100))
	case 2: // a merge
		for id := range s.Parts {
			e.RemoveParts = append(e.RemoveParts, id)
		}
		e.AddParts = []Part{partOf(s.NextPartID + 5)}
	case 3:
		e.AddTombstones = []Tombstone{tombstoneOf(uint64(rng.Intn(50))), {Seq: 7}}
	case 4:
		for _, t := range s.Tombstones {
			if rng.Intn(2) == 0 {
				e.RemoveTombstones = append(e.RemoveTombstones, t.Seq)
			}
		}
		e.NextPartID = s.NextPartID + 3
	case 5:
		for range rng.Intn(4) {
			e.SetMetadata = append(e.SetMetadata, Metadata{
				Family: fmt.Sprint("family", rng.Intn(3)), Type: "counter", Help: fmt.Sprint("help", rng.Intn(20)), Unit: "s",
			})
		}
	case 6:
		for id := range s.Parts {
			e.Quarantine = map[uint64]string{id: fmt.Sprint("reason ", rng.Intn(100)), 1 << 60: ""}
			if rng.Intn(2) == 0 {
				e.RemoveParts = []uint64{id}
			}
			break
		}
	}
	return e
}

// TestApply: the state is what the edits say, in hand, after reopening and to a
// reader.
func TestApply(t *testing.T) {
	mem := vfs.NewMem()
	m := mustOpen(t, mem)
	want := m.State()
	require.NotZero(t, want.LabelHashKey)
	require.EqualValues(t, 1, want.NextPartID)
	rng := rand.New(rand.NewSource(1))
	for i := range 300 {
		e := randomEdit(rng, want)
		require.NoError(t, m.Apply(e))
		want.apply(e)
		require.Equal(t, want, m.State())
		if i%10 == 0 {
			got, err := Read(mem, ".")
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.NoError(t, m.Close())
			m = mustOpen(t, mem)
			require.Equal(t, want, m.State())
			require.Zero(t, m.TornBytes())
		}
	}
	require.Equal(t, []string{FileName}, mustList(t, mem))
	require.NoError(t, m.Close())
	require.ErrorIs(t, m.Close(), ErrClosed)
	require.ErrorIs(t, m.Apply(Edit{FlushedSeq: 1 << 60}), ErrClosed)
}

func mustList(t *testing.T, fsys vfs.FS) []string {
	t.Helper()
	names, err := fsys.List(".")
	require.NoError(t, err)
	return names
}

func TestApplyRules(t *testing.T) {
	m := mustOpen(t, vfs.NewMem())
	apply := func(e Edit) {
		t.Helper()
		require.NoError(t, m.Apply(e))
	}
	refuse := func(e Edit, want string) {
		t.Helper()
		before, size := m.State(), m.SizeBytes()
		require.ErrorContains(t, m.Apply(e), want)
		require.Equal(t, before, m.State())
		require.Equal(t, size, m.SizeBytes())
	}
	nothing := func(e Edit) {
		t.Helper()
		before, size := m.State(), m.SizeBytes()
		apply(e)
		require.Equal(t, before, m.State())
		require.Equal(t, size, m.SizeBytes(), "an edit that changes nothing is not written")
	}

	apply(Edit{AddParts: []Part{partOf(4)}, FlushedSeq: 10})
	require.EqualValues(t, 5, m.State().NextPartID)
	refuse(Edit{AddParts: []Part{partOf(4)}}, "add part 4")
	refuse(Edit{AddParts: []Part{partOf(6), partOf(6)}}, "add part 6")
	refuse(Edit{RemoveParts: []uint64{5}}, "remove part 5")
	refuse(Edit{RemoveParts: []uint64{4, 4}}, "remove part 4")
	nothing(Edit{})
	nothing(Edit{FlushedSeq: 9, NextPartID: 2})
	nothing(Edit{RemoveTombstones: []uint64{3}})

	apply(Edit{RemoveParts: []uint64{4}, AddParts: []Part{partOf(4)}})
	apply(Edit{RemoveParts: []uint64{4}, Quarantine: map[uint64]string{4: "bad block"}})
	require.Empty(t, m.State().Parts)
	require.Equal(t, map[uint64]string{4: "bad block"}, m.State().Quarantined)
	nothing(Edit{Quarantine: map[uint64]string{4: "bad block"}})
	apply(Edit{RemoveParts: []uint64{4}})
	require.Empty(t, m.State().Quarantined)

	apply(Edit{AddTombstones: []Tombstone{tombstoneOf(1), tombstoneOf(2), {Seq: 1}}})
	nothing(Edit{AddTombstones: []Tombstone{tombstoneOf(2)}})
	apply(Edit{RemoveTombstones: []uint64{1}})
	require.Equal(t, []Tombstone{tombstoneOf(2)}, m.State().Tombstones)

	for i := range 12 {
		apply(Edit{SetMetadata: []Metadata{{Family: "f", Help: fmt.Sprint(i)}}})
	}
	nothing(Edit{SetMetadata: []Metadata{{Family: "f", Help: "11"}}})
	apply(Edit{SetMetadata: []Metadata{{Family: "f", Help: "5"}}})
	var helps []string
	for _, set := range m.State().Metadata["f"] {
		helps = append(helps, set.Help)
	}
	require.Equal(t, []string{"2", "3", "4", "6", "7", "8", "9", "10", "11", "5"}, helps)
}

// TestOwnership: what callers do to a state or an edit does not reach the
// manifest.
func TestOwnership(t *testing.T) {
	m := mustOpen(t, vfs.NewMem())
	e := Edit{AddParts: []Part{partOf(1)}, AddTombstones: []Tombstone{tombstoneOf(1)}, SetMetadata: []Metadata{{Family: "f"}}}
	require.NoError(t, m.Apply(e))
	want := m.State()
	e.AddTombstones[0].Matchers[0].Name = "changed"
	s := m.State()
	s.Parts[9] = Part{}
	s.Tombstones[0].Seq = 99
	s.Metadata["f"][0].Help = "changed"
	s.Quarantined[1] = "changed"
	require.Equal(t, want, m.State())
}

// TestGoroutines applies edits and reads states from many goroutines at once.
func TestGoroutines(t *testing.T) {
	m := mustOpen(t, vfs.NewMem())
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				id := uint64(g*1000 + i + 1)
				if err := m.Apply(Edit{AddParts: []Part{partOf(id)}, SetMetadata: []Metadata{{Family: "f", Help: fmt.Sprint(id)}}}); err != nil {
					t.Error(err)
				}
				if s := m.State(); s.Parts[id] != partOf(id) {
					t.Errorf("part %d is not there", id)
				}
				m.SizeBytes()
			}
		})
	}
	wg.Wait()
	require.Len(t, m.State().Parts, 200)
}

// TestLeftover: what a crash left of a file written anew goes away.
func TestLeftover(t *testing.T) {
	mem := vfs.NewMem()
	require.NoError(t, vfs.WriteFileAtomic(mem, FileName+".tmp", []byte("half")))
	m := mustOpen(t, mem)
	require.Equal(t, []string{FileName}, mustList(t, mem))
	require.NoError(t, m.Close())
	require.NoError(t, vfs.WriteFileAtomic(mem, FileName+".tmp", []byte("half")))
	mustOpen(t, mem)
	require.Equal(t, []string{FileName}, mustList(t, mem))
}

// TestRewrite: the file is written anew when it is large and mostly history.
func TestRewrite(t *testing.T) {
	mem := vfs.NewMem()
	m := mustOpen(t, mem)
	help := strings.Repeat("h", 10_000)
	largest := int64(0)
	for i := range 500 {
		require.NoError(t, m.Apply(Edit{SetMetadata: []Metadata{{Family: "f", Help: help, Unit: fmt.Sprint(i)}}}))
		largest = max(largest, m.SizeBytes())
		require.Equal(t, m.SizeBytes(), mem.Used())
	}
	require.Greater(t, largest, int64(rewriteBytes-20_000))
	require.Less(t, largest, int64(rewriteBytes+20_000))
	want := m.State()
	require.NoError(t, m.Close())
	require.Equal(t, want, mustOpen(t, mem).State())

	// A large state is not written anew again and again.
	fault := vfs.NewFault(mem)
	creates := 0
	fault.FailIf(func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate {
			creates++
		}
		return nil
	})
	m = mustOpen(t, fault)
	for i := range 500 {
		require.NoError(t, m.Apply(Edit{SetMetadata: []Metadata{{Family: fmt.Sprint(i), Help: help}}}))
	}
	require.Less(t, creates, 3)
}

// TestEveryOperationFails fails the k-th operation for every k: an edit that
// was applied is there after a power loss; one that was refused is not, unless
// the error said so; and the state in hand is always that of the applied edits.
func TestEveryOperationFails(t *testing.T) {
	for seed := range int64(3) {
		for _, sticky := range []bool{false, true} {
			for k := int64(1); failAt(t, seed, k, sticky); k++ {
			}
		}
	}
}

func failAt(t *testing.T, seed, k int64, sticky bool) (fired bool) {
	mem := vfs.NewMem()
	m := mustOpen(t, mem)
	key := m.State().LabelHashKey
	require.NoError(t, m.Close())
	fault := vfs.NewFault(mem)
	fault.ShortWrites(k%2 == 0)
	if sticky {
		fault.FailFrom(k)
	} else {
		fault.FailOp(k)
	}
	rng := rand.New(rand.NewSource(seed))
	m, err := Open(fault, ".")
	if err != nil {
		require.ErrorIs(t, err, vfs.ErrInjected)
		require.Equal(t, key, mustOpen(t, mem.CrashClone(rng, 0.5)).State().LabelHashKey)
		return fault.Fired() > 0
	}
	applied := m.State()
	var maybe []State // what may be found instead after a crash
	for i := range 12 {
		e := randomEdit(rng, applied)
		if seed%2 == 0 && i == 6 { // large enough to be written anew
			for j := range 130 {
				e.SetMetadata = append(e.SetMetadata, Metadata{Family: "big", Help: strings.Repeat("h", 10_000), Unit: fmt.Sprint(j)})
			}
		}
		err := m.Apply(e)
		if err == nil {
			applied.apply(e)
			maybe = nil
		} else {
			require.True(t, errors.Is(err, vfs.ErrInjected), "%v", err)
		}
		if errors.Is(err, ErrUnsettled) {
			with := applied.clone()
			with.apply(e)
			maybe = append(maybe, with)
		}
		require.Equal(t, applied, m.State())
		if fault.Fired() == 0 && i < 11 {
			continue
		}
		for _, keep := range []float64{0, 0.5, 1} {
			got := mustOpen(t, mem.CrashClone(rng, keep)).State()
			require.Contains(t, append(maybe, applied), got, "seed=%d k=%d step=%d keep=%v err=%v", seed, k, i, keep, err)
		}
	}
	return fault.Fired() > 0
}

// TestCrashAfterEveryStep loses power after each edit, with nothing, a part or
// all of what was not synced surviving, and in the middle of one.
func TestCrashAfterEveryStep(t *testing.T) {
	for seed := range int64(10) {
		mem := vfs.NewMem()
		m := mustOpen(t, mem)
		rng := rand.New(rand.NewSource(seed))
		want := m.State()
		for range 20 {
			e := randomEdit(rng, want)
			b, err := appendFramed(nil, record{Edit: e})
			require.NoError(t, err)
			_, err = m.file.Write(b) // as Apply does, before its fsync
			require.NoError(t, err)
			for range 5 {
				got := mustOpen(t, mem.CrashClone(rng, 0.3)).State()
				with := want.clone()
				with.apply(e)
				require.Contains(t, []State{want, with}, got)
			}
			require.NoError(t, m.cut())
			require.NoError(t, m.Apply(e))
			want.apply(e)
			for _, keep := range []float64{0, 0.5, 1} {
				require.Equal(t, want, mustOpen(t, mem.CrashClone(rng, keep)).State())
			}
		}
	}
}

// TestKillThenPowerLoss: an edit that a reopened manifest shows is durable, even
// if the process that wrote it died before its fsync.
func TestKillThenPowerLoss(t *testing.T) {
	mem := vfs.NewMem()
	m := mustOpen(t, mem)
	b, err := appendFramed(nil, record{Edit: Edit{FlushedSeq: 5}})
	require.NoError(t, err)
	_, err = m.file.Write(b)
	require.NoError(t, err)
	rng := rand.New(rand.NewSource(1))
	killed := mem.CrashClone(rng, 1)
	shown := mustOpen(t, mem).State() // mem, where the bytes are not synced yet
	require.EqualValues(t, 5, shown.FlushedSeq)
	require.Equal(t, shown, mustOpen(t, mem.CrashClone(rng, 0)).State())
	require.Equal(t, shown, mustOpen(t, killed).State())
}

// sample returns the bytes of a manifest of several records, and where each
// begins and the last ends.
func sample(t testing.TB) (data []byte, ends []int, states []State) {
	t.Helper()
	s := newState()
	for i := range s.LabelHashKey {
		s.LabelHashKey[i] = byte(i)
	}
	data, err := encodeFile(s)
	require.NoError(t, err)
	ends, states = append(ends, len(data)), append(states, s.clone())
	for _, e := range []Edit{
		{AddParts: []Part{partOf(1), partOf(2)}, FlushedSeq: 2000},
		{AddTombstones: []Tombstone{tombstoneOf(7), {Seq: 8, MinT: 1, MaxT: 2}}},
		{SetMetadata: []Metadata{{Family: "http_requests", Type: "counter", Help: "Requests.", Unit: "requests"}}},
		{RemoveParts: []uint64{1, 2}, AddParts: []Part{partOf(3)}, RemoveTombstones: []uint64{7}},
		{NextPartID: 17, Quarantine: map[uint64]string{3: "index: checksum mismatch", 2: ""}},
	} {
		data, err = appendFramed(data, record{Edit: e})
		require.NoError(t, err)
		s.apply(e)
		ends, states = append(ends, len(data)), append(states, s.clone())
	}
	return data, ends, states
}

// TestTornTail cuts the file at every byte, and zeros it from every byte on.
func TestTornTail(t *testing.T) {
	data, ends, states := sample(t)
	for cut := range data {
		zeroed := append(data[:cut:cut], make([]byte, len(data)-cut)...)
		for _, torn := range [][]byte{data[:cut], zeroed} {
			mem := vfs.NewMem()
			require.NoError(t, vfs.WriteFileAtomic(mem, FileName, torn))
			m, err := Open(mem, ".")
			if cut < ends[0] { // never torn: it is renamed into place
				require.ErrorIs(t, err, ErrCorrupt, "cut=%d", cut)
				continue
			}
			require.NoError(t, err)
			sound := cut
			for sound < len(torn) && torn[sound] == data[sound] {
				sound++ // it was zero before
			}
			last := 0
			for last+1 < len(ends) && ends[last+1] <= sound {
				last++
			}
			require.Equal(t, states[last], m.State(), "cut=%d", cut)
			require.EqualValues(t, len(torn)-ends[last], m.TornBytes())
			require.NoError(t, m.Apply(Edit{FlushedSeq: 1 << 40}))
			require.NoError(t, m.Close())
			require.EqualValues(t, 1<<40, mustOpen(t, mem).State().FlushedSeq)
		}
	}
}

// TestCorruption: damage before the last record is an error with its place and
// cause, and nothing is written.
func TestCorruption(t *testing.T) {
	good, ends, _ := sample(t)
	f := func(name string, change func(b []byte) []byte, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			bad := change(bytes.Clone(good))
			require.NoError(t, vfs.WriteFileAtomic(mem, "d-"+FileName, bad))
			require.NoError(t, mem.MkdirAll("db"))
			require.NoError(t, mem.Rename("d-"+FileName, "db/"+FileName))
			want = strings.NewReplacer("RECORD", fmt.Sprint(ends[1])).Replace(want)
			_, err := Open(mem, "db")
			require.EqualError(t, err, "open manifest: "+want)
			_, err = Read(mem, "db")
			require.EqualError(t, err, "read manifest: "+want)
			after, err := vfs.ReadFile(mem, "db/"+FileName)
			require.NoError(t, err)
			require.True(t, bytes.Equal(bad, after))
		})
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 1; return b }
	}
	record := func(payload string) func([]byte) []byte {
		return func(b []byte) []byte {
			b = binary.LittleEndian.AppendUint32(b[:ends[1]], uint32(len(payload)))
			b = append(b, 0, 0, 0, 0)
			b = append(b, payload...)
			binary.LittleEndian.PutUint32(b[ends[1]+4:], recordCRC(b[ends[1]:]))
			return b
		}
	}
	f("magic", flip(0), `manifest damaged: db/MANIFEST at offset 0: magic: got "warvemft", want "varvemft"`)
	f("version", flip(9), "manifest damaged: db/MANIFEST at offset 0: header: checksum mismatch")
	f("newer version", func(b []byte) []byte {
		b[8] = 2
		binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[:12], castagnoli()))
		return b
	}, "read db/MANIFEST: unknown format version: got 2, this build reads 1")
	f("empty", func([]byte) []byte { return nil }, "manifest damaged: db/MANIFEST at offset 0: header cut off: got 0 bytes, want 16")
	f("length", flip(ends[1]), "manifest damaged: db/MANIFEST at offset RECORD: checksum mismatch: got b3f8245a, want 51216318")
	f("length beyond the end", func(b []byte) []byte { b[ends[1]+2] = 1; return b },
		"manifest damaged: db/MANIFEST at offset RECORD: record cut off: got 193 bytes, want 65583")
	f("payload", flip(ends[1]+20), "manifest damaged: db/MANIFEST at offset RECORD: checksum mismatch: got 70e7f53b, want 51216318")
	f("unknown tag", record("\x63\x00"), "manifest damaged: db/MANIFEST at offset RECORD: field 99: unknown tag 99: written by a newer build?")
	f("short value", record("\x06\x00"), "manifest damaged: db/MANIFEST at offset RECORD: field 6: value cut short")
	f("long value", record("\x06\x02\x01\x01"), "manifest damaged: db/MANIFEST at offset RECORD: field 6: bytes left over: 1")
	f("field beyond the record", record("\x06\x05\x01"), "manifest damaged: db/MANIFEST at offset RECORD: field 6: value cut short")
	f("no such part", record("\x01\x01\x63"), "manifest damaged: db/MANIFEST at offset RECORD: remove part 99: no such part")
	f("second key", record("\x09\x10"+strings.Repeat("k", 16)), "manifest damaged: db/MANIFEST at offset RECORD: label hash key set twice")
	f("no key", func(b []byte) []byte { return append(b[:headerSize:headerSize], b[ends[0]:]...) },
		"manifest damaged: db/MANIFEST at offset 16: no label hash key")
}

// TestVersion1 reads a file that was written by the first version.
func TestVersion1(t *testing.T) {
	const golden = "testdata/v1/MANIFEST"
	data, _, states := sample(t)
	got, err := Read(vfs.OS{}, "testdata/v1")
	require.NoError(t, err)
	require.Equal(t, states[len(states)-1], got)
	stored, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, stored), "what is written today differs from the file kept: is it another version?")
}

// FuzzDecode: arbitrary bytes are refused or give a state that comes back the
// same from what is written for it.
func FuzzDecode(f *testing.F) {
	data, ends, _ := sample(f)
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add(data[ends[0]:])
	f.Add([]byte{})
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		c, err := decodeFile(FileName, b)
		if err != nil {
			require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion), "%v", err)
			return
		}
		tally.Accepted()
		require.EqualValues(t, len(b), c.size+c.torn)
		again, err := encodeFile(c.state)
		require.NoError(t, err)
		c2, err := decodeFile(FileName, again)
		require.NoError(t, err)
		require.Equal(t, c.state, c2.state)
	})
}

// FuzzDecodeRecord is FuzzDecode behind the checksum.
func FuzzDecodeRecord(f *testing.F) {
	data, ends, _ := sample(f)
	start := headerSize
	for _, end := range ends {
		f.Add(data[start+recordHeaderSize : end])
		start = end
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		tally.Accepted()
		again, err := decodeRecord(appendRecord(nil, r))
		require.NoError(t, err)
		require.Equal(t, r, again)
		s := newState()
		if s.check(r.Edit) == nil {
			s.apply(r.Edit)
			require.LessOrEqual(t, len(s.Parts), len(b))
		}
	})
}
