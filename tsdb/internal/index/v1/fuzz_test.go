package v1

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/index/section"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// reseal writes the sections of a segment anew with one of them changed, so
// that the checksums hold and the checks behind them are met.
func reseal(t testing.TB, segment []byte, id uint64, change func([]byte) []byte) []byte {
	f, err := section.Open(bytes.NewReader(segment), int64(len(segment)), format)
	if err != nil {
		t.Fatal(err)
	}
	var w section.Writer
	out := format.AppendHeader(nil)
	for s := uint64(secNames); s <= secRecords; s++ {
		b, err := f.Read(s)
		if err != nil {
			t.Fatal(err)
		}
		if s == id {
			b = change(b)
		}
		if out, err = w.Append(out, 0, s, b); err != nil {
			t.Fatal(err)
		}
	}
	return w.AppendFooter(out, format)
}

// FuzzOpen changes one section; what is still accepted must answer everything
// without a panic, and series must be in order.
func FuzzOpen(f *testing.F) {
	base := build(f, randomSets(rand.New(rand.NewPCG(1, 1)), 60))
	for id := uint64(secNames); id <= secRecords; id++ {
		f.Add(byte(id), uint16(3), []byte{1})
		f.Add(byte(id), uint16(9), []byte{0xff, 2})
		f.Add(byte(id), uint16(0), []byte{})
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, id byte, at uint16, patch []byte) {
		tally.Input()
		b := reseal(t, base, uint64(id), func(b []byte) []byte {
			copy(b[min(int(at), len(b)):], patch)
			return b
		})
		s, err := Open(b)
		if err != nil {
			return
		}
		tally.Accepted()
		exercise(t, s)
	})
}

func exercise(t *testing.T, s *Segment) {
	var b labels.ScratchBuilder
	var last labels.Labels
	for i := range s.Len() {
		lset := s.Labels(uint32(i), &b)
		if i > 0 && labels.Compare(last, lset) >= 0 {
			t.Fatalf("series %d is out of order", i)
		}
		last = lset
	}
}

// FuzzOpenBytes opens anything at all.
func FuzzOpenBytes(f *testing.F) {
	f.Add(build(f, randomSets(rand.New(rand.NewPCG(1, 1)), 5)))
	f.Add([]byte("VIDX"))
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		if s, err := Open(b); err == nil {
			tally.Accepted()
			exercise(t, s)
		}
	})
}
