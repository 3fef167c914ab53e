package index

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// randomSets returns label sets in label order: some labels that all series
// have, some that few have, values with common prefixes, odd letters and cases.
func randomSets(r *rand.Rand, n int) []labels.Labels {
	seen := map[string]labels.Labels{}
	var b labels.ScratchBuilder
	odd := []string{"é1", "\u212Aelvin", "kelvin", "Kelvin", "\u017Ftop", "stop", "v1\nv", "a\xffb", "\uFFFD"}
	for range n {
		b.Reset()
		metric := r.IntN(1 + n/20)
		b.Add("__name__", fmt.Sprintf("metric_%d", metric))
		if r.IntN(3) > 0 {
			b.Add("a", fmt.Sprintf("v%d", r.IntN(3)))
		}
		if r.IntN(20) == 0 {
			b.Add("b", odd[r.IntN(len(odd))])
		}
		b.Add("instance", fmt.Sprintf("host%d:%d", r.IntN(1+n/4), 9000+r.IntN(2)))
		if metric%2 == 0 {
			b.Add("job", "v1")
		}
		b.Add(fmt.Sprintf("own_%d", metric%7), fmt.Sprint(r.IntN(4)))
		if r.IntN(2) == 0 {
			b.Add("päth", fmt.Sprintf("v%d", r.IntN(1+n)))
		}
		if r.IntN(2) == 0 { // packed by a template
			b.Add("uid", fmt.Sprintf("%08x-4%03x", r.IntN(1+n), r.IntN(1<<12)))
		}
		b.Sort()
		lset := b.Labels()
		seen[lset.String()] = lset
	}
	if n > 3 {
		seen["{}"] = labels.EmptyLabels()
	}
	return slices.SortedFunc(maps.Values(seen), labels.Compare)
}

func build(t testing.TB, sets []labels.Labels, o Options, days func(i int) []int64) []byte {
	t.Helper()
	w := NewWriter(o)
	for i, lset := range sets {
		var active []int64
		if days != nil {
			active = days(i)
		}
		got, err := w.Add(lset, active...)
		require.NoError(t, err)
		require.EqualValues(t, i, got)
	}
	var out bytes.Buffer
	n, err := w.WriteTo(&out)
	require.NoError(t, err)
	require.EqualValues(t, out.Len(), n)
	return out.Bytes()
}

func open(t testing.TB, sets []labels.Labels, caches Caches) *Segment {
	t.Helper()
	s, err := Open(build(t, sets, Options{}, nil), caches)
	require.NoError(t, err)
	return s
}

// headOf adds the sets in random order and returns them in it.
func headOf(t testing.TB, r *rand.Rand, sets []labels.Labels, caches Caches) (*Head, []labels.Labels) {
	t.Helper()
	sets = slices.Clone(sets)
	r.Shuffle(len(sets), func(i, k int) { sets[i], sets[k] = sets[k], sets[i] })
	h := NewHead(caches)
	for i, lset := range sets {
		got, added, err := h.Add(lset)
		require.NoError(t, err)
		require.True(t, added)
		require.EqualValues(t, i, got)
	}
	return h, sets
}

func randomMatcher(r *rand.Rand) *labels.Matcher {
	names := []string{"__name__", "a", "b", "instance", "job", "päth", "own_3", "absent", "uid"}
	values := []string{"", "v0", "v1", "v12", "none", "v1|v2|v30", "v1.*", ".*", ".+", "v.+", "host1.+", "host.*", "v[0-9]",
		"(?i)V1.*", ".*2", ".*1.*", "v1|", "é.*", "[^v].*", "v1.+|v2", "metric_1.*", "(metric_.*)", "^v1.*$", "(?i)k.*", "(?i)stop",
		"(?i)(s.+|t.+)", "(?:.+)", "v1.+.+", "(?-s:v1.+)", "()", "\uFFFD.*", "a.b", "a.*", ".*.*", ".+.*", "host1:9000|host2:9001", "0000.*", "00000001.+", ".*-4a.*", "0", "v(1|2)?", "3"}
	return labels.MustNewMatcher(labels.MatchType(r.IntN(4)), names[r.IntN(len(names))], values[r.IntN(len(values))])
}

// selectNaive is the slow twin of Select.
func selectNaive(sets []labels.Labels, ms []*labels.Matcher) []uint32 {
	var out []uint32
next:
	for i, lset := range sets {
		for _, m := range ms {
			if !m.Matches(lset.Get(m.Name)) {
				continue next
			}
		}
		out = append(out, uint32(i))
	}
	return out
}

func testCaches(r *rand.Rand) Caches {
	var c Caches
	if r.IntN(2) == 0 {
		c.Values = NewCache(1 << 20)
	}
	if r.IntN(2) == 0 {
		c.Results = NewCache(1 << 20)
	}
	return c
}

func requireSelect(t testing.TB, v *View, sets []labels.Labels, within *bitmap.Set, ms []*labels.Matcher) int {
	t.Helper()
	got, err := v.SelectIn(within, ms...)
	require.NoError(t, err)
	want := selectNaive(sets, ms)
	if within != nil {
		want = slices.DeleteFunc(want, func(id uint32) bool { return !within.Contains(id) })
	}
	require.Equal(t, len(want), got.Count(), "%v", ms)
	if len(want) > 0 {
		require.Equal(t, want, got.AppendTo(nil), "%v", ms)
	}
	return len(want)
}

func TestSelectEqualsNaiveFilter(t *testing.T) {
	hits := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		sets := randomSets(r, []int{0, 1, 5, 80, 2000}[seed%5])
		s := open(t, sets, testCaches(r))
		h, order := headOf(t, r, sets, testCaches(r))
		var some bitmap.Builder
		for id := range sets {
			if r.IntN(3) == 0 {
				some.Add(uint32(id))
			}
		}
		within := some.Set()
		for range 200 {
			var ms []*labels.Matcher
			for range r.IntN(5) {
				ms = append(ms, randomMatcher(r))
			}
			hits += requireSelect(t, &s.View, sets, nil, ms)
			requireSelect(t, &s.View, sets, within, ms)
			requireSelect(t, h.View(), order, nil, ms)
			requireSelect(t, h.View(), order, within, ms)
		}
	}
	require.Greater(t, hits, 10_000)
}

// TestFoldedLettersOfAnotherLength: a folded letter may take another number of
// bytes, so that no prefix of bytes narrows such an expression.
func TestFoldedLettersOfAnotherLength(t *testing.T) {
	var sets []labels.Labels
	for _, value := range []string{"\u212Aelvin", "kelvin", "Kelvin", "\u017Ftop", "stop"} {
		sets = append(sets, labels.FromStrings("__name__", "p26", "l", value))
	}
	slices.SortFunc(sets, labels.Compare)
	s := open(t, sets, Caches{})
	h, _ := headOf(t, rand.New(rand.NewPCG(1, 2)), sets, Caches{})
	for value, want := range map[string]int{"(?i)k.*": 3, "(?i)stop": 2, "(?i)(s.+|t.+)": 2, "(?i:K).*": 3, "k.*": 1} {
		for _, v := range []*View{&s.View, h.View()} {
			got, err := v.Select(labels.MustNewMatcher(labels.MatchEqual, "__name__", "p26"), labels.MustNewMatcher(labels.MatchRegexp, "l", value))
			require.NoError(t, err)
			require.Equal(t, want, got.Count(), value)
			got, err = v.Select(labels.MustNewMatcher(labels.MatchNotRegexp, "l", value))
			require.NoError(t, err)
			require.Equal(t, len(sets)-want, got.Count(), value)
		}
	}
}

// TestCachesFollowTheHead asks the same matchers while series keep coming.
func TestCachesFollowTheHead(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	sets := randomSets(r, 3000)
	r.Shuffle(len(sets), func(i, k int) { sets[i], sets[k] = sets[k], sets[i] })
	caches := Caches{Values: NewCache(1 << 20), Results: NewCache(4 << 20)}
	h := NewHead(caches)
	var asked [][]*labels.Matcher
	for range 60 {
		var ms []*labels.Matcher
		for range 1 + r.IntN(3) {
			ms = append(ms, randomMatcher(r))
		}
		asked = append(asked, ms)
	}
	var early *View
	for i, lset := range sets {
		_, _, err := h.Add(lset)
		require.NoError(t, err)
		if i == 1000 {
			early = h.View()
		}
		if i%250 == 0 || i == len(sets)-1 {
			for _, ms := range asked {
				requireSelect(t, h.View(), sets[:i+1], nil, ms)
				if early != nil {
					requireSelect(t, early, sets[:1001], nil, ms)
				}
			}
		}
	}
	require.Greater(t, caches.Results.Stats().Hits, uint64(300))
	require.Greater(t, caches.Values.Stats().Hits, uint64(20))
	require.LessOrEqual(t, caches.Results.Stats().Bytes, 4<<20)
	h.Close()
	require.Zero(t, caches.Results.Stats().Entries)
	require.Zero(t, caches.Values.Stats().Bytes)
}

func TestCacheKeepsItsBound(t *testing.T) {
	c := NewCache(4000)
	for i := range 100 {
		c.put(fmt.Append(nil, i), i, 100)
		require.LessOrEqual(t, c.Stats().Bytes, 4000)
	}
	require.Nil(t, c.get([]byte("0")))
	require.Equal(t, 99, c.get([]byte("99")))
	c.put([]byte("large"), 1, 3000)
	require.Nil(t, c.get([]byte("large")))
}

func TestLabelsComeBack(t *testing.T) {
	for _, o := range []Options{{}, {Compress: true}} {
		r := rand.New(rand.NewPCG(7, 7))
		sets := randomSets(r, 6000)
		f, err := os.Create(filepath.Join(t.TempDir(), "scratch"))
		require.NoError(t, err)
		defer f.Close()
		plain := build(t, sets, o, nil)
		o.Scratch = f
		require.Equal(t, plain, build(t, sets, o, nil))
		s, err := Open(plain, Caches{})
		require.NoError(t, err)
		require.Equal(t, len(sets), s.Len())
		require.NoError(t, s.Verify())
		h, order := headOf(t, r, sets, Caches{})
		var b labels.ScratchBuilder
		m := s.Materializer()
		for i, want := range sets {
			got, err := s.Labels(uint32(i), &b)
			require.NoError(t, err)
			require.Equal(t, want, got)
			got, err = m.Labels(uint32(i))
			require.NoError(t, err)
			require.Equal(t, want, got)
			at, ok := s.Lookup(want)
			require.True(t, ok)
			require.EqualValues(t, i, at)
			got, err = h.View().Labels(uint32(i), &b)
			require.NoError(t, err)
			require.Equal(t, order[i], got)
			at, ok = h.Lookup(order[i])
			require.True(t, ok)
			require.EqualValues(t, i, at)
		}
		_, err = s.Labels(uint32(len(sets)), &b)
		require.ErrorContains(t, err, "out of range")
		for _, lset := range randomSets(rand.New(rand.NewPCG(8, 8)), 1500) {
			_, want := slices.BinarySearchFunc(sets, lset, labels.Compare)
			_, got := s.Lookup(lset)
			require.Equal(t, want, got)
			_, got = h.Lookup(lset)
			require.Equal(t, want, got)
			_, added, err := h.Add(lset)
			require.NoError(t, err)
			require.Equal(t, want, !added)
		}
	}
}

func TestNamesValuesAndColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	sets := randomSets(r, 700)
	h, order := headOf(t, r, sets, Caches{})
	for _, c := range []struct {
		v    *View
		sets []labels.Labels
	}{{&open(t, sets, Caches{}).View, sets}, {h.View(), order}} {
		for _, pick := range []int{0, 1, 50, len(sets)} {
			requireNamesAndValues(t, r, c.v, c.sets, pick)
		}
		for _, count := range c.v.Cardinality() {
			total, values, size := 0, 0, 0
			c.v.EachValue(count.Name, func(value string, series int) {
				total, values, size = total+series, values+1, size+len(value)
			})
			require.Equal(t, NameCount{count.Name, values, total, size}, count)
		}
		top := c.v.TopValues("a", 2)
		require.Len(t, top, 2)
		require.Equal(t, len(selectNaive(sets, []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "a", top[0].Value)})), top[0].Series)
		require.GreaterOrEqual(t, top[0].Series, top[1].Series)
	}
}

func requireNamesAndValues(t *testing.T, r *rand.Rand, v *View, sets []labels.Labels, pick int) {
	var some bitmap.Builder
	names, values := map[string]bool{}, map[string]map[string]bool{}
	for i := range sets {
		if r.IntN(len(sets)) >= pick {
			continue
		}
		some.Add(uint32(i))
		sets[i].Range(func(l labels.Label) {
			names[l.Name] = true
			if values[l.Name] == nil {
				values[l.Name] = map[string]bool{}
			}
			values[l.Name][l.Value] = true
		})
	}
	series := some.Set()
	require.Equal(t, slices.Sorted(maps.Keys(names)), v.LabelNames(series))
	if pick == len(sets) {
		require.Equal(t, v.LabelNames(nil), v.LabelNames(series))
	}
	for _, name := range append(slices.Sorted(maps.Keys(names)), "absent") {
		require.Equal(t, slices.Sorted(maps.Keys(values[name])), v.LabelValues(name, series))
		if pick == len(sets) {
			require.Equal(t, v.LabelValues(name, nil), v.LabelValues(name, series))
		}
		column := v.Column(name)
		ids := series.AppendTo(nil)
		ordinals := make([]uint32, len(ids))
		column.Fill(ordinals, ids)
		for i, id := range ids {
			require.Equal(t, sets[id].Get(name), column.Value(ordinals[i]))
			require.LessOrEqual(t, int(ordinals[i]), column.Len())
		}
	}
}

func active(t testing.TB, s *Segment, first, last int64) *bitmap.Set {
	t.Helper()
	set, err := s.Active(first, last)
	require.NoError(t, err)
	return set
}

func TestDaysComeBack(t *testing.T) {
	sets := randomSets(rand.New(rand.NewPCG(6, 6)), 500)
	days := func(i int) []int64 {
		on := []int64{20_000}
		if i%3 == 0 {
			on = append(on, 20_001)
		}
		if i == 17 {
			on = append(on, 20_009)
		}
		return on
	}
	s, err := Open(build(t, sets, Options{}, days), Caches{})
	require.NoError(t, err)
	require.Equal(t, []int64{20_000, 20_001, 20_009}, s.Days())
	require.Equal(t, len(sets), active(t, s, 20_000, 20_000).Count())
	require.Equal(t, (len(sets)+2)/3, active(t, s, 20_001, 20_001).Count())
	require.Equal(t, []uint32{17}, active(t, s, 20_002, 30_000).AppendTo(nil))
	require.Nil(t, active(t, s, 0, 19_999))
}

func TestWriterRefuses(t *testing.T) {
	var w Writer
	_, err := w.Add(labels.FromStrings("a", "2"))
	require.NoError(t, err)
	_, err = w.Add(labels.FromStrings("a", "2"))
	require.ErrorIs(t, err, ErrOrder)
	_, err = w.Add(labels.FromStrings("a", "1"))
	require.ErrorIs(t, err, ErrOrder)
	_, err = w.Add(labels.FromStrings("b", ""))
	require.ErrorContains(t, err, `label "b" is empty`)
	_, err = w.Add(labels.FromStrings("b", "1"), -1)
	require.ErrorContains(t, err, "day -1 is out of range")
	require.Equal(t, 1, w.Len())
	_, _, err = NewHead(Caches{}).Add(labels.FromStrings("b", ""))
	require.ErrorContains(t, err, `label "b" is empty`)
}

type failingFile struct{ after int }

func (f *failingFile) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, os.ErrClosed
	}
	return len(b), nil
}
func (f *failingFile) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }

func TestWriterReportsFailures(t *testing.T) {
	sets := randomSets(rand.New(rand.NewPCG(1, 9)), 300)
	add := func(o Options) *Writer {
		w := NewWriter(o)
		for _, lset := range sets {
			_, err := w.Add(lset)
			require.NoError(t, err)
		}
		return w
	}
	size := len(build(t, sets, Options{}, nil))
	for after := 0; after < size; after += 1 + size/20 {
		_, err := add(Options{}).WriteTo(&failingFile{after: after})
		require.ErrorIs(t, err, os.ErrClosed, "%d of %d bytes", after, size)
	}
	_, err := add(Options{Scratch: &failingFile{after: 1 << 30}}).WriteTo(&failingFile{after: 1 << 30})
	require.ErrorContains(t, err, "read scratch of index")
	w := NewWriter(Options{Scratch: &failingFile{}})
	for _, lset := range sets {
		if _, err = w.Add(lset); err != nil {
			break
		}
	}
	require.ErrorContains(t, err, "write scratch of index")
	_, err = w.WriteTo(&failingFile{after: 1 << 30})
	require.ErrorContains(t, err, "write scratch of index")
}

func TestFlippedBytesAreNoticed(t *testing.T) {
	b := build(t, randomSets(rand.New(rand.NewPCG(4, 4)), 50), Options{Compress: true}, nil)
	for i := range b {
		b[i] ^= 0x20
		_, err := Open(b, Caches{})
		require.Error(t, err, "byte %d", i)
		b[i] ^= 0x20
	}
	for i := range b {
		_, err := Open(b[:i], Caches{})
		require.ErrorIs(t, err, block.ErrCorrupt)
	}
}

// TestDamagedPagesAreToldApart: a segment with a damaged page opens, answers
// what does not need the page, and tells the damage where it does.
func TestDamagedPagesAreToldApart(t *testing.T) {
	sets := make([]labels.Labels, 20_000)
	for i := range sets {
		sets[i] = manyLabelsOf(i)
	}
	slices.SortFunc(sets, labels.Compare)
	b := build(t, sets, Options{}, func(int) []int64 { return []int64{1} })
	told, answered := 0, 0
	for at := pageSize / 2; at < len(b)-pageSize; at += pageSize {
		b[at] ^= 4
		s, err := Open(b, Caches{})
		if err != nil {
			require.ErrorIs(t, err, block.ErrCorrupt)
			b[at] ^= 4
			continue
		}
		require.ErrorIs(t, s.Verify(), block.ErrCorrupt)
		s, err = Open(b, Caches{})
		require.NoError(t, err)
		for _, name := range []string{"__name__", "label_03", "uid"} {
			m := labels.MustNewMatcher(labels.MatchEqual, name, sets[at%len(sets)].Get(name))
			var got []uint32
			err := s.Guard(func() error {
				set, err := s.Select(m)
				got = set.AppendTo(nil)
				return err
			})
			var c *block.CorruptionError
			if errors.As(err, &c) {
				require.EqualValues(t, at/pageSize*pageSize, c.Offset)
				told++
				continue
			}
			require.NoError(t, err)
			require.Equal(t, selectNaive(sets, []*labels.Matcher{m}), got)
			answered++
		}
		b[at] ^= 4
	}
	require.Positive(t, told)
	require.Greater(t, answered, told)
}

// TestBugsAreNoDamage: only what a file can bring about is taken for damage.
func TestBugsAreNoDamage(t *testing.T) {
	s := open(t, randomSets(rand.New(rand.NewPCG(4, 4)), 50), Caches{})
	require.Panics(t, func() { _ = s.Guard(func() error { panic("of another kind") }) })
	require.Panics(t, func() {
		_ = s.Guard(func() error {
			var none *Segment
			none.n++
			return nil
		})
	})
	require.ErrorIs(t, s.Guard(func() error { _ = s.file[len(s.file):][0]; return nil }), block.ErrCorrupt)
}

func TestTemplatesPackAndKeepTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	f := func(size int, value func() string) {
		var values []string
		for range 300 {
			values = append(values, value())
		}
		slices.Sort(values)
		tpl := newTemplate(len(values), slices.Values(values))
		if size == 0 {
			require.Nil(t, tpl)
			return
		}
		require.Equal(t, size, tpl.size)
		r := codec.NewReader(tpl.appendTo(nil))
		back, err := readTemplate(&r)
		require.NoError(t, err)
		require.Equal(t, tpl, back)
		previous := ""
		for _, value := range values {
			packed, ok := tpl.encode(nil, value)
			require.True(t, ok)
			require.Len(t, packed, size)
			require.LessOrEqual(t, previous, string(packed))
			require.Equal(t, value, string(tpl.decode(nil, packed)))
			previous = string(packed)
		}
		_, ok := tpl.encode(nil, values[0]+"0")
		require.False(t, ok)
		_, ok = tpl.encode(nil, "\xff"+values[0][1:])
		require.False(t, ok)
	}
	f(15, func() string {
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Uint64N(1<<48))
	})
	f(3, func() string { return fmt.Sprintf("host_%05d.eu", r.IntN(100_000)) })
	f(0, func() string { return fmt.Sprint(r.IntN(100_000)) })                                                 // of several lengths
	f(0, func() string { return fmt.Sprintf("%c%c%c%c", r.IntN(128), r.IntN(128), r.IntN(128), r.IntN(128)) }) // of all letters
}
