package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// model knows what was promised about a log.
type model struct {
	acked     map[uint64][]byte // Append said so
	synced    uint64            // SyncTo said so, for every number up to it but for lost ones
	attempted map[string]bool   // every payload that was ever given to Append
	released  uint64
	count     int
}

func newModel() *model { return &model{acked: map[uint64][]byte{}, attempted: map[string]bool{}} }

// payload makes a payload that no other frame has.
func (m *model) payload(rng *rand.Rand) []byte {
	m.count++
	return fmt.Appendf(nil, "%d:%s", m.count, bytes.Repeat([]byte{'x'}, rng.Intn(200)))
}

func (m *model) append(l *Log, rng *rand.Rand) error {
	p := m.payload(rng)
	m.attempted[string(p)] = true
	seq, err := l.Append(l.Segment(), 1, 0, p)
	if err != nil {
		return err
	}
	if old, ok := m.acked[seq]; ok {
		return fmt.Errorf("frame %d was given to %q before", seq, old)
	}
	m.acked[seq] = p
	return nil
}

func (m *model) sync(l *Log) error {
	seq := l.LastSeq()
	err := l.SyncTo(seq)
	if err == nil {
		m.synced = max(m.synced, seq)
	}
	return err
}

// check replays the log and holds it to what was promised: each acknowledged
// frame is there when killed is the worst that happened, each synced one always.
func (m *model) check(t *testing.T, fsys vfs.FS, onlySynced bool, lost func(uint64) bool) *Log {
	t.Helper()
	l, err := Open(fsys, "wal", Options{SegmentBytes: 500, NextSeq: m.released + 1, Quarantine: "quarantine"})
	require.NoError(t, err)
	got := map[uint64]string{}
	last := m.released
	_, err = l.Replay(m.released, func(f Frame) error {
		require.Equal(t, f.Seq <= m.released, f.Old)
		if f.Old {
			return nil
		}
		require.Greater(t, f.Seq, last)
		require.True(t, m.attempted[string(f.Payload)], "frame %d was never written: %q", f.Seq, f.Payload)
		last = f.Seq
		got[f.Seq] = string(f.Payload)
		return nil
	})
	require.NoError(t, err)
	for seq, p := range m.acked {
		if seq <= m.released || onlySynced && (seq > m.synced || lost(seq)) {
			continue
		}
		require.Equal(t, string(p), got[seq], "acknowledged frame %d", seq)
	}
	require.GreaterOrEqual(t, l.LastSeq(), last)
	return l
}

// workload appends, syncs, rotates and releases, and goes on after errors as
// the store does: a failed log is rotated. It returns the frames whose fsync
// failed before the rotation, which are only promised to survive a kill.
func workload(fsys vfs.FS, m *model, seed int64, step func()) (lost map[uint64]bool, errs []error) {
	lost = map[uint64]bool{}
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	rng := rand.New(rand.NewSource(seed))
	l, err := Open(fsys, "wal", Options{SegmentBytes: 500, NextSeq: m.released + 1, Quarantine: "quarantine"})
	if err != nil {
		return lost, []error{err}
	}
	if _, err := l.Replay(m.released, func(Frame) error { return nil }); err != nil {
		return lost, []error{err}
	}
	for range 25 {
		var err error
		switch rng.Intn(8) {
		case 0, 1:
			err = m.sync(l)
		case 2:
			_, err = l.Rotate()
			if err == nil {
				m.synced = l.LastSeq()
			}
		case 3:
			upto := m.synced - min(m.synced, uint64(rng.Intn(6)))
			m.released = max(m.released, upto)
			err = l.Release(m.released)
		default:
			err = m.append(l, rng)
		}
		note(err)
		if errors.Is(err, ErrLogFailed) {
			for seq := m.synced + 1; seq <= l.LastSeq(); seq++ {
				lost[seq] = true
			}
			_, err = l.Rotate()
			note(err)
		}
		step()
	}
	note(l.Close())
	step()
	return lost, errs
}

func lostIn(lost map[uint64]bool) func(uint64) bool {
	return func(seq uint64) bool { return lost[seq] }
}

// TestEveryOperationFails fails the k-th operation of a workload, once or from
// then on, for every k: whatever was acknowledged is there after a kill, and
// whatever was synced after a power loss; the log can be written again.
func TestEveryOperationFails(t *testing.T) {
	for seed := range int64(4) {
		for _, sticky := range []bool{false, true} {
			for k := int64(1); failAt(t, seed, k, sticky); k++ {
			}
		}
	}
}

func failAt(t *testing.T, seed, k int64, sticky bool) (fired bool) {
	mem := vfs.NewMem()
	m := newModel()
	_, errs := workload(mem, m, seed+100, func() {}) // something to replay
	require.Empty(t, errs)
	fault := vfs.NewFault(mem)
	fault.ShortWrites(k%2 == 0)
	if sticky {
		fault.FailFrom(k)
	} else {
		fault.FailOp(k)
	}
	lost, errs := workload(fault, m, seed, func() {})
	for _, err := range errs {
		require.True(t, errors.Is(err, vfs.ErrInjected) || errors.Is(err, ErrLogFailed), "seed=%d k=%d: %v", seed, k, err)
	}
	for i, keep := range []float64{0, 0.5, 0.5} {
		c := mem.CrashClone(rand.New(rand.NewSource(k+int64(i))), keep)
		require.NoError(t, m.check(t, c, true, lostIn(lost)).Close())
	}
	l := m.check(t, mem, false, nil)
	require.NoError(t, m.append(l, rand.New(rand.NewSource(1))))
	require.NoError(t, m.sync(l))
	require.NoError(t, l.Close())
	require.NoError(t, m.check(t, mem.CrashClone(rand.New(rand.NewSource(k)), 0), true, lostIn(lost)).Close())
	return fault.Fired() > 0
}

// TestCrashAfterEveryStep loses power after each step of a workload, with
// nothing, a part or all of what was not synced surviving, and goes on with the
// survivor for two more lives.
func TestCrashAfterEveryStep(t *testing.T) {
	for seed := range int64(15) {
		mem := vfs.NewMem()
		m := newModel()
		rng := rand.New(rand.NewSource(seed))
		for range 3 {
			var survivors []*vfs.Mem
			_, errs := workload(mem, m, rng.Int63(), func() {
				for _, keep := range []float64{0, 0.3, 0.8} {
					c := mem.CrashClone(rng, keep)
					require.NoError(t, m.check(t, c, true, lostIn(nil)).Close())
					survivors = append(survivors, c)
				}
				require.NoError(t, m.check(t, mem.CrashClone(rng, 1), false, nil).Close())
			})
			require.Empty(t, errs)
			mem = survivors[len(survivors)-1-rng.Intn(3)] // after Close all is synced
		}
	}
}

// TestFullDisk fills the disk in the middle of appends; the log goes on when
// there is space again.
func TestFullDisk(t *testing.T) {
	mem := vfs.NewMem()
	m := newModel()
	rng := rand.New(rand.NewSource(1))
	l, err := Open(mem, "wal", Options{SegmentBytes: 500})
	require.NoError(t, err)
	failures := 0
	for room := range int64(700) {
		mem.SetCapacity(mem.Used() + room)
		for {
			if err := m.append(l, rng); err != nil {
				require.ErrorIs(t, err, vfs.ErrNoSpace)
				failures++
				break
			}
		}
		require.NoError(t, m.sync(l))
		mem.SetCapacity(-1)
	}
	require.Equal(t, 700, failures)
	require.NoError(t, l.Close())
	require.NoError(t, m.check(t, mem.CrashClone(rng, 0), true, lostIn(nil)).Close())
}
