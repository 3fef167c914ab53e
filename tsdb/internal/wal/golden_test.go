package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// TestGolden runs the scripts in testdata: what is lost and what is told for
// each kind of damage. Rewrite with -rewrite.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, file string) {
		s := &script{t: t, fs: vfs.NewMem()}
		datadriven.RunTest(t, file, s.run)
	})
}

// script is a log on a memory file system, driven by commands.
type script struct {
	t     *testing.T
	fs    *vfs.Mem
	fault *vfs.Fault
	log   *Log
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	var b strings.Builder
	for _, cmd := range strings.Split(strings.TrimSpace(d.Cmd+" "+argText(d)+"\n"+d.Input), "\n") {
		b.WriteString(s.command(cmd))
	}
	return b.String()
}

func argText(d *datadriven.TestData) string {
	var args []string
	for _, a := range d.CmdArgs {
		args = append(args, a.String())
	}
	return strings.Join(args, " ")
}

func (s *script) command(line string) string {
	name, rest, _ := strings.Cut(line, " ")
	arg := func(key string, def uint64) uint64 {
		for _, field := range strings.Fields(rest) {
			if k, v, ok := strings.Cut(field, "="); ok && k == key {
				_, err := fmt.Sscan(v, &def)
				require.NoError(s.t, err, line)
			}
		}
		return def
	}
	switch name {
	case "open":
		return s.open(Options{SegmentBytes: int64(arg("segment-bytes", 0)), NextSeq: arg("next-seq", 0), Quarantine: "quarantine"}, arg("after", 0))
	case "append":
		return s.append(arg("n", 1), int(arg("size", 10)))
	case "rotate":
		segment, err := s.log.Rotate()
		return result(fmt.Sprintf("segment %d", segment), err)
	case "release":
		return result("", s.log.Release(arg("upto", 0)))
	case "sync":
		return result("", s.log.SyncTo(s.log.LastSeq()))
	case "close":
		return result("", s.log.Close())
	case "fail":
		return s.fail(rest)
	case "scan":
		return s.scan()
	case "ls":
		return s.ls()
	case "flip", "zero", "cut", "grow", "number":
		return s.damage(name, arg)
	}
	s.t.Fatalf("unknown command %q", line)
	return ""
}

func result(text string, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error() + "\n"
	case text == "":
		return ""
	}
	return text + "\n"
}

func (s *script) open(opts Options, after uint64) string {
	s.fault = vfs.NewFault(s.fs)
	log, err := Open(s.fault, "wal", opts)
	if err != nil {
		return result("", err)
	}
	s.log = log
	var seqs []uint64
	report, err := log.Replay(after, func(f Frame) error {
		if f.Old {
			return nil
		}
		checkPayload(s.t, f)
		seqs = append(seqs, f.Seq)
		return nil
	})
	if err != nil {
		return result("", err)
	}
	return reportText(report, seqs) + fmt.Sprintf("next: segment %d, frame %d\n", log.Segment(), log.LastSeq()+1)
}

func reportText(report ReplayReport, seqs []uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "frames: %v\n", seqs)
	if report.Torn != nil {
		fmt.Fprintf(&b, "torn: %v\n", report.Torn)
	}
	for _, c := range report.Corruptions {
		fmt.Fprintf(&b, "damage: %v\n", c)
	}
	for _, info := range report.Segments {
		if info.Quarantined != "" {
			fmt.Fprintf(&b, "kept: %s\n", info.Quarantined)
		}
	}
	return b.String()
}

// payloadOf returns the payload that the tests give to frame seq.
func payloadOf(seq uint64, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(seq*31 + uint64(i)*7)
	}
	return b
}

func checkPayload(t *testing.T, f Frame) {
	t.Helper()
	require.Equal(t, payloadOf(f.Seq, len(f.Payload)), f.Payload, "frame %d", f.Seq)
	require.Equal(t, uint8(f.Seq), f.Type)
	require.Equal(t, uint8(f.Seq>>8), f.Flags)
}

func (s *script) append(n uint64, size int) string {
	for range n {
		next := s.log.LastSeq() + 1
		seq, err := s.log.Append(s.log.Segment(), uint8(next), uint8(next>>8), payloadOf(next, size))
		if err != nil {
			return result("", err)
		}
		require.Equal(s.t, next, seq)
	}
	return ""
}

// fail makes the named kinds of operations fail, after half of it for a write;
// without a name nothing.
func (s *script) fail(kinds string) string {
	s.fault.ShortWrites(true)
	s.fault.FailIf(func(op vfs.Op) error {
		for _, kind := range strings.Fields(kinds) {
			if op.Kind == vfs.OpKind(kind) {
				return fmt.Errorf("%s %s: %w", op.Kind, op.Name, errBroken)
			}
		}
		return nil
	})
	return ""
}

var errBroken = errors.New("broken disk")

func (s *script) scan() string {
	var seqs []uint64
	report, err := Scan(s.fs, "wal", func(f Frame) error {
		checkPayload(s.t, f)
		seqs = append(seqs, f.Seq)
		return nil
	})
	if err != nil {
		return result("", err)
	}
	return reportText(report, seqs)
}

func (s *script) ls() string {
	var b strings.Builder
	for _, dir := range []string{"wal", "quarantine"} {
		names, err := s.fs.List(dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			info, err := s.fs.Stat(path.Join(dir, name))
			require.NoError(s.t, err)
			fmt.Fprintf(&b, "%s/%s %d\n", dir, name, info.Size())
		}
	}
	return b.String()
}

// damage changes bytes of a segment.
func (s *script) damage(deed string, arg func(string, uint64) uint64) string {
	name := path.Join("wal", SegmentName(arg("segment", 1)))
	data, err := vfs.ReadFile(s.fs, name)
	require.NoError(s.t, err)
	at := arg("at", 0)
	switch deed {
	case "flip":
		data[at] ^= 0x10
	case "zero":
		clear(data[at : at+arg("bytes", 1)])
	case "cut":
		data = data[:uint64(len(data))-arg("bytes", 0)]
	case "grow":
		data = append(data, make([]byte, arg("bytes", 0))...)
	case "number": // a sound header of another version
		binary.LittleEndian.PutUint32(data[8:], uint32(arg("version", version)))
		binary.LittleEndian.PutUint32(data[12:], crc32.Checksum(data[:12], castagnoli()))
	}
	require.NoError(s.t, vfs.WriteFileAtomic(s.fs, name, data))
	return ""
}
