package part

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// A data file that is mapped, with room for all of it or for little, changes nothing
// about what statistics answer and spans load, by many at once.
func TestMappedStatistics(t *testing.T) {
	f := func(fs vfs.FS, dir string, limit int64, unmapped bool) {
		t.Helper()
		var list []testSeries
		r := rand.New(rand.NewPCG(1, 4))
		for shape := range 36 {
			s := block.Span{Kind: block.KindFloat, Count: 4000, Start: dayStart, Step: 1000, Floats: hardValues(r, shape, 4000)}
			list = append(list, testSeries{lset: labels.FromStrings("a", fmt.Sprintf("%02d", shape)), spans: []block.Span{s}})
		}
		writePart(t, fs, dir, WriterOptions{}, list)
		plain, mapped := openPart(t, fs, dir), openPart(t, fs, dir)
		m := NewMapped(limit)
		mapped.UseMapped(m)
		var readers sync.WaitGroup
		for seed := range uint64(3) {
			readers.Go(func() {
				r := rand.New(rand.NewPCG(seed, 1))
				for range 500 {
					o := uint32(r.IntN(len(list)))
					i := r.IntN(4000)
					j := i + 1 + r.IntN(4000-i)
					want, got := answersFor(plain, o, i, j), answersFor(mapped, o, i, j)
					if !block.EqualBits(want, got) || len(got) < 4 {
						t.Errorf("series %d, samples %d to %d: got %v, want %v", o, i, j, got, want)
					}
				}
			})
		}
		readers.Wait()
		if !unmapped && limit > mappedStretch {
			require.Positive(t, m.Bytes())
		}
		require.LessOrEqual(t, m.Bytes(), limit+3*mappedStretch)
		require.NoError(t, mapped.Close())
		require.NoError(t, plain.Close())
		require.Empty(t, m.mu.files)
	}
	for _, limit := range []int64{1 << 20, mappedStretch} {
		f(vfs.NewMem(), "a", limit, false)
		f(vfs.OS{}, filepath.ToSlash(filepath.Join(t.TempDir(), "a")), limit, !vfs.Maps(vfs.OS{}))
		fault := vfs.NewFault(vfs.NewMem())
		fault.FailIf(func(op vfs.Op) error {
			if op.Kind == vfs.OpMap {
				return errors.New("map")
			}
			return nil
		})
		f(fault, "a", limit, true)
	}
}

// answersFor asks for the samples [i, j) of a series with one block.
func answersFor(p *Part, o uint32, i, j int) (out []float64) {
	c := p.Spans(o, math.MinInt64, math.MaxInt64)
	for c.Next() {
		s := c.Span()
		for op := block.StatCount; op <= block.StatIncrease; op++ {
			if v, exact := s.Stat(op, i, j); exact {
				out = append(out, v)
			}
		}
		list, _ := s.Resets(nil, i, j)
		for _, k := range list {
			out = append(out, float64(k))
		}
		some := s.Slice(i, min(i+3, j))
		if some.Load() == nil {
			for k := range some.Count {
				out = append(out, some.Float(k))
			}
		}
	}
	return out
}
