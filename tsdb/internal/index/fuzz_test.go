package index

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// reseal writes the sections of a segment anew with one of them changed, so that
// the checksums hold and the checks behind them are met.
func reseal(t testing.TB, segment []byte, id int, change func([]byte) []byte) []byte {
	c, err := openFrame(segment)
	require.NoError(t, err)
	var out bytes.Buffer
	f := newFrame(&out, false)
	for k := 1; k < secSums; k++ {
		content := bytes.Clone(c.section[k].b)
		if k == id {
			content = change(content)
		}
		f.begin(uint64(k))
		f.put(content)
		f.end()
	}
	_, err = f.finish()
	require.NoError(t, err)
	return out.Bytes()
}

// FuzzOpen changes one section; what is still accepted must answer everything
// without a panic.
func FuzzOpen(f *testing.F) {
	base := build(f, randomSets(rand.New(rand.NewPCG(1, 1)), 200), Options{}, func(i int) []int64 { return []int64{int64(i % 3)} })
	for id := 1; id < secSums; id++ {
		f.Add(byte(id), uint16(3), []byte{1})
		f.Add(byte(id), uint16(9), []byte{0xff, 2})
		f.Add(byte(id), uint16(0), []byte{})
		f.Add(byte(id), uint16(100), []byte{0, 0, 0, 0x80})
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, id byte, at uint16, patch []byte) {
		tally.Input()
		b := reseal(t, base, int(id), func(b []byte) []byte {
			copy(b[min(int(at), len(b)):], patch)
			return b
		})
		s, err := Open(b, Caches{})
		if err != nil {
			return
		}
		tally.Accepted()
		exercise(t, s)
	})
}

// exercise asks a segment everything. It may be damaged, and then a look-up may
// say so, if Verify does too.
func exercise(t *testing.T, s *Segment) {
	if s.Len() > 100_000 {
		return // rows that take no bytes: correct, but long
	}
	verifyErr := s.Verify()
	if verifyErr != nil {
		require.ErrorIs(t, verifyErr, block.ErrCorrupt)
	}
	err := s.Guard(func() error {
		askAll(t, s, verifyErr == nil)
		return nil
	})
	if err != nil {
		require.ErrorIs(t, err, block.ErrCorrupt)
		require.Error(t, verifyErr)
	}
}

func askAll(t *testing.T, s *Segment, verified bool) {
	check := func(err error) {
		if err != nil {
			require.False(t, verified, "%v", err)
			panic(&damage{err}) // on to the next input
		}
	}
	var b labels.ScratchBuilder
	m := s.Materializer()
	for i := range s.Len() {
		lset, err := s.Labels(uint32(i), &b)
		check(err)
		again, err := m.Labels(uint32(i))
		check(err)
		require.Equal(t, lset, again)
		s.Lookup(lset)
	}
	for _, name := range s.LabelNames(nil) {
		s.LabelValues(name, nil)
		s.TopValues(name, 3)
		for _, matcher := range []*labels.Matcher{
			labels.MustNewMatcher(labels.MatchRegexp, name, "v.*"),
			labels.MustNewMatcher(labels.MatchRegexp, name, ".*1.*"),
			labels.MustNewMatcher(labels.MatchNotEqual, name, "v1"),
		} {
			got, err := s.Select(matcher)
			check(err)
			for _, id := range got.AppendTo(nil) {
				lset, err := s.Labels(id, &b)
				check(err)
				require.True(t, !verified || matcher.Matches(lset.Get(name)))
			}
		}
	}
	s.Cardinality()
	_, err := s.Active(0, 10)
	check(err)
}

// FuzzOpenBytes opens anything at all.
func FuzzOpenBytes(f *testing.F) {
	sets := randomSets(rand.New(rand.NewPCG(1, 1)), 5)
	f.Add(build(f, sets, Options{}, nil))
	f.Add(build(f, sets, Options{Compress: true}, nil))
	f.Add([]byte("VIDX"))
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		if s, err := Open(b, Caches{}); err == nil {
			tally.Accepted()
			exercise(t, s)
		}
	})
}

// FuzzSelect selects from random sets by a matcher of any expression, in segment
// and head, and compares with the slow twin.
func FuzzSelect(f *testing.F) {
	sets := randomSets(rand.New(rand.NewPCG(2, 2)), 300)
	s := open(f, sets, Caches{})
	h, order := headOf(f, rand.New(rand.NewPCG(3, 3)), sets, Caches{})
	for _, value := range []string{"v.*", "(?i)k.*", "^(?:v1)$", "a|b|", "(v1).+", "(?s)v.1", "v\\d+", "", ".*\n.*", "(?i)(s.+|t.+)", "v1$", "^$", "(^v1.*$)"} {
		f.Add("b", value, byte(2))
		f.Add("päth", value, byte(3))
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, name, value string, kind byte) {
		tally.Input()
		m, err := labels.NewMatcher(labels.MatchType(kind%4), name, value)
		if err != nil {
			return
		}
		tally.Accepted()
		ms := []*labels.Matcher{m, labels.MustNewMatcher(labels.MatchNotEqual, "a", "v0")}
		requireSelect(t, &s.View, sets, nil, ms)
		requireSelect(t, &s.View, sets, nil, ms[:1])
		requireSelect(t, h.View(), order, nil, ms)
	})
}
