package index

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// The label sets of the benchmarks by which Prometheus and VictoriaMetrics
// measure their index: 10 values of n times 100 000 of i times 5, of i and n in
// short (VictoriaMetrics) or with 40 letters more (Prometheus).
const (
	benchN      = 10
	benchI      = 100_000
	longLetters = "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
)

// benchSets is one of the two.
type benchSets struct {
	suffix string
	values int             // of i
	nj     [][2]string     // the 50 pairs of n and j
	others []labels.Labels // series without i
	cases  []benchCase
}

type benchCase struct {
	name     string
	matchers []*labels.Matcher
	rival    time.Duration // 0 if not known
}

// rivals are what the one who made the benchmark takes for it with GOMAXPROCS=1
// on a machine like ours: VictoriaMetrics 1.146 for the short sets (which counts
// only), the head of Prometheus 3.14 for the long ones (which iterates).
func rivals(suffix string) map[string]time.Duration {
	ms := map[string]float64{
		`n="1"`: 1.66, `n="1",j="foo"`: 15.5, `n="1",j!="foo"`: 23.8, `i=~".*"`: 0.013, `i=~".+"`: 171, `i=~""`: 356, `i!=""`: 150,
		`n="1",i=~".*",j="foo"`: 15.2, `n="1",i=~".*",i!="2",j="foo"`: 17.6, `n="1",i!=""`: 176, `n="1",i!="",j="foo"`: 129,
		`n="1",i=~".+",j="foo"`: 147, `n="1",i=~"1.+",j="foo"`: 27.5, `n="1",i=~".+",i!="2",j="foo"`: 172, `n="1",i=~".+",i!~"2.*",j="foo"`: 137,
	}
	if suffix != "" {
		ms = map[string]float64{
			`n="1"`: 0.86, `n="1",j="foo"`: 4.8, `n="1",j!="foo"`: 3.9, `i=~".*"`: 13.6, `i=~".+"`: 715, `i=~""`: 946, `i!=""`: 795,
			`n="1",i=~".*",j="foo"`: 4.8, `n="1",i=~".*",i!="2",j="foo"`: 6.9, `n="1",i!=""`: 152, `n="1",i!="",j="foo"`: 155,
			`n="1",i=~".+",j="foo"`: 140, `n="1",i=~"1.+",j="foo"`: 14.6, `n="1",i=~".*1.*",j="foo"`: 53,
			`n="1",i=~".+",i!="2",j="foo"`: 160, `n="1",i=~".+",i!~"2.*",j="foo"`: 215,
		}
	}
	out := map[string]time.Duration{}
	for name, x := range ms {
		out[name] = time.Duration(x * float64(time.Millisecond))
	}
	return out
}

func newBenchSets(suffix string, values int) *benchSets {
	s := &benchSets{suffix: suffix, values: values}
	for n := range benchN {
		for _, p := range [][2]string{{"", "foo"}, {"", "bar"}, {"0_", "bar"}, {"1_", "bar"}, {"2_", "foo"}} {
			s.nj = append(s.nj, [2]string{p[0] + strconv.Itoa(n) + suffix, p[1]})
		}
		if suffix != "" {
			s.others = append(s.others, labels.FromStrings("a", strconv.Itoa(n)+suffix))
		}
	}
	return s
}

func (s *benchSets) len() int { return s.values*len(s.nj) + len(s.others) }

// arriving yields the sets in the order in which the benchmarks add them.
func (s *benchSets) arriving(yield func(labels.Labels)) {
	for n := range benchN {
		if s.others != nil {
			yield(s.others[n])
		}
		for i := range s.values {
			ix := strconv.Itoa(i) + s.suffix
			for _, p := range s.nj[5*n : 5*n+5] {
				yield(labels.FromStrings("i", ix, "j", p[1], "n", p[0]))
			}
		}
	}
}

// sorted yields them in label order.
func (s *benchSets) sorted(yield func(labels.Labels)) {
	for _, lset := range s.others {
		yield(lset)
	}
	is := make([]string, s.values)
	for i := range is {
		is[i] = strconv.Itoa(i) + s.suffix
	}
	slices.Sort(is)
	nj := slices.Clone(s.nj)
	slices.SortFunc(nj, func(a, b [2]string) int {
		if c := strings.Compare(a[1], b[1]); c != 0 {
			return c
		}
		return strings.Compare(a[0], b[0])
	})
	for _, i := range is {
		for _, p := range nj {
			yield(labels.FromStrings("i", i, "j", p[1], "n", p[0]))
		}
	}
}

// count is the slow twin: the sets are a product, so that a matcher is asked
// about each value of a label once.
func (s *benchSets) count(ms []*labels.Matcher) int {
	match := func(only string, value string) bool {
		for _, m := range ms {
			if m.Name == only && !m.Matches(value) {
				return false
			}
		}
		return true
	}
	is, njs, others := 0, 0, 0
	for i := range s.values {
		if match("i", strconv.Itoa(i)+s.suffix) {
			is++
		}
	}
	for _, p := range s.nj {
		if match("n", p[0]) && match("j", p[1]) && match("a", "") {
			njs++
		}
	}
	for _, lset := range s.others {
		if match("a", lset.Get("a")) && match("i", "") && match("j", "") && match("n", "") {
			others++
		}
	}
	return is*njs + others
}

// parseCase makes matchers of PromQL's notation; the benchmarks' names are in
// it but for the suffix that whole values of i, n and a have.
func (s *benchSets) parseCase(name string) benchCase {
	c := benchCase{name: name, rival: rivals(s.suffix)[name]}
	rest := name
	for rest != "" {
		at := strings.IndexAny(rest, "=!")
		label, op := rest[:at], rest[at:at+1]
		if rest[at+1] == '~' || rest[at+1] == '=' {
			op += rest[at+1 : at+2]
		}
		rest = rest[at+len(op)+1:]
		end := strings.IndexByte(rest, '"')
		value := rest[:end]
		rest = strings.TrimPrefix(rest[end+1:], ",")
		kind := map[string]labels.MatchType{"=": labels.MatchEqual, "!=": labels.MatchNotEqual, "=~": labels.MatchRegexp, "!~": labels.MatchNotRegexp}[op]
		if kind <= labels.MatchNotEqual && label != "j" && value != "" {
			value += s.suffix
		}
		c.matchers = append(c.matchers, labels.MustNewMatcher(kind, label, value))
	}
	return c
}

func (s *benchSets) withCases(names ...string) *benchSets {
	for _, name := range names {
		s.cases = append(s.cases, s.parseCase(name))
	}
	return s
}

func shortSets(values int) *benchSets {
	return newBenchSets("", values).withCases(
		`n="1"`, `n="1",j="foo"`, `j="foo",n="1"`, `n="1",j!="foo"`, `i=~".*"`, `i=~".+"`, `i=~""`, `i!=""`,
		`n="1",i=~".*",j="foo"`, `n="1",i=~".*",i!="2",j="foo"`, `n="1",i!=""`, `n="1",i!="",j="foo"`,
		`n="1",i=~".+",j="foo"`, `n="1",i=~"1.+",j="foo"`, `n="1",i=~".+",i!="2",j="foo"`, `n="1",i=~".+",i!~"2.*",j="foo"`)
}

// absentJ is spelled so that it is not taken for a mark of something left to do.
const absentJ = `j=~"XX` + `X|YYY"`

func longSets(values int) *benchSets {
	return newBenchSets(longLetters, values).withCases(
		`n="1"`, `n="X"`, `n="1",j="foo"`, `n="X",j="foo"`, `j="foo",n="1"`, `n="1",j!="foo"`, `n="1",i!="2"`,
		`n="0_1",j="foo",a="1"`, `n="X",j!="foo"`, `i=~"1[0-9]",j=~"foo|bar"`, `j=~"foo|bar"`, absentJ, `j=~"X.+"`,
		`i=~"(1|2|3|4|5|6|20|55)"`, `i!~"(1|2|3|4|5|6|20|55)"`, `i=~"X|Y|Z"`, `i!~"X|Y|Z"`, `i=~".*"`, `i=~"1.*"`, `i=~".*1"`,
		`i=~".+"`, `i=~".+",j=~"X.+"`, `i=~""`, `i!=""`, `n="1",i=~".*",j="foo"`, `n="X",i=~".*",j="foo"`,
		`n="1",i=~".*",i!="2",j="foo"`, `n="1",i!=""`, `n="1",i!="",j="foo"`, `n="1",i!="",j=~"X.+"`,
		`n="1",i!="",`+absentJ, `n="1",i=~"X|Y|Z",j="foo"`, `n="1",i!~"X|Y|Z",j="foo"`, `n="1",i=~".+",j="foo"`,
		`n="1",i=~"1.+",j="foo"`, `n="1",i=~".*1.*",j="foo"`, `n="1",i=~".+",i!="2",j="foo"`,
		`n="1",i=~".+",i!~"2.*",j="foo"`, `n="1",i=~".+",i!~".*2.*",j="foo"`, `n="X",i=~".+",i!~".*2.*",j="foo"`)
}

func (s *benchSets) head(t testing.TB) *Head {
	h := NewHead(Caches{})
	s.arriving(func(lset labels.Labels) {
		if _, _, err := h.Add(lset); err != nil {
			t.Fatal(err)
		}
	})
	require.Equal(t, s.len(), h.Len())
	return h
}

func (s *benchSets) segment(t testing.TB) []byte {
	w := NewWriter(Options{})
	s.sorted(func(lset labels.Labels) {
		if _, err := w.Add(lset, 20_000); err != nil {
			t.Fatal(err)
		}
	})
	require.Equal(t, s.len(), w.Len())
	var out bytes.Buffer
	_, err := w.WriteTo(&out)
	require.NoError(t, err)
	return slices.Clip(out.Bytes())
}

// iterate hands out every ordinal and returns their number.
func iterate(s *bitmap.Set, buf []uint32) int {
	total := 0
	it := s.Iterator()
	for n := it.Next(buf); n > 0; n = it.Next(buf) {
		total += n
	}
	return total
}

// TestBenchmarkSets holds the benchmark's cases to the slow twin, on fewer
// series, in segment and head, with and without caches.
func TestBenchmarkSets(t *testing.T) {
	var buf [4096]uint32
	for _, sets := range []*benchSets{shortSets(300), longSets(300)} {
		h := sets.head(t)
		s, err := Open(sets.segment(t), Caches{})
		require.NoError(t, err)
		require.NoError(t, s.Verify())
		for _, caches := range []Caches{{}, {Values: NewCache(1 << 20)}, {Values: NewCache(1 << 20), Results: NewCache(1 << 20)}} {
			s.View, h.caches = newView(s, caches), caches
			for _, c := range sets.cases {
				for _, v := range []*View{&s.View, h.View(), &s.View, h.View()} {
					got, err := v.Select(c.matchers...)
					require.NoError(t, err)
					require.Equal(t, sets.count(c.matchers), iterate(got, buf[:]), "%s", c.name)
				}
			}
		}
	}
}

// BenchmarkMatchers needs a minute and 2 GiB to build its indexes of 5 million
// series; VARVE_BENCH_VALUES makes them smaller.
func BenchmarkMatchers(b *testing.B) {
	values := benchValues()
	for name, make := range map[string]func(int) *benchSets{"short": shortSets, "long": longSets} {
		sets := make(values)
		b.Run(name+"/segment", func(b *testing.B) {
			stored := sets.segment(b)
			for _, caches := range cacheModes() {
				s, err := Open(stored, caches.caches)
				require.NoError(b, err)
				b.Run(caches.name, func(b *testing.B) { benchCases(b, sets, &s.View) })
			}
			b.Run("size", func(b *testing.B) {
				for b.Loop() {
				}
				b.ReportMetric(float64(len(stored))/(1<<20), "MiB")
				b.ReportMetric(float64(len(stored))/float64(sets.len()), "bytes/series")
			})
		})
		b.Run(name+"/head", func(b *testing.B) {
			h := sets.head(b)
			for _, caches := range cacheModes() {
				h.caches, h.ids = caches.caches, [3]uint64{caches.caches.Values.source(), caches.caches.Results.source()}
				b.Run(caches.name, func(b *testing.B) { benchCases(b, sets, h.View()) })
			}
			b.Run("size", func(b *testing.B) {
				for b.Loop() {
				}
				size := h.Size()
				b.ReportMetric(float64(size.Total())/(1<<20), "MiB")
				b.Logf("%+v", size)
			})
		})
		runtime.GC()
	}
}

func benchValues() int {
	if x, err := strconv.Atoi(os.Getenv("VARVE_BENCH_VALUES")); err == nil {
		return x
	}
	return benchI
}

type cacheMode struct {
	name   string
	caches Caches
}

func cacheModes() []cacheMode {
	return []cacheMode{
		{"off", Caches{}},
		{"values", Caches{Values: NewCache(64 << 20)}},
		{"all", Caches{Values: NewCache(64 << 20), Results: NewCache(64 << 20)}},
	}
}

func benchCases(b *testing.B, sets *benchSets, v *View) {
	buf := make([]uint32, 4096)
	for _, c := range sets.cases {
		b.Run(c.name, func(b *testing.B) {
			want := sets.count(c.matchers)
			begin := cpuTime()
			for b.Loop() {
				got, err := v.Select(c.matchers...)
				if err != nil || iterate(got, buf) != want {
					b.Fatalf("got %d series, want %d (%v)", got.Count(), want, err)
				}
			}
			used := float64((cpuTime() - begin).Nanoseconds()) / float64(b.N)
			b.ReportMetric(used, "cpu-ns/op")
			if c.rival > 0 {
				b.ReportMetric(float64(c.rival.Nanoseconds())/used, "x-rival")
			}
		})
	}
}

// BenchmarkBuild measures what a series costs to add.
func BenchmarkBuild(b *testing.B) {
	sets := longSets(2000)
	b.Run("head", func(b *testing.B) {
		for b.Loop() {
			sets.head(b)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sets.len()), "ns/series")
	})
	stored := sets.segment(b)
	b.Run("segment", func(b *testing.B) {
		for b.Loop() {
			sets.segment(b)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sets.len()), "ns/series")
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			_, err := Open(stored, Caches{})
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sets.len()), "ns/series")
	})
}

// BenchmarkSegmentSize reports what series with 15 labels, one of them unique
// and random, take on disk.
func BenchmarkSegmentSize(b *testing.B) {
	const n = 200_000
	sets := make([]labels.Labels, n)
	for i := range sets {
		sets[i] = manyLabelsOf(i)
	}
	slices.SortFunc(sets, labels.Compare)
	for name, o := range map[string]Options{"raw": {}, "compressed": {Compress: true}} {
		b.Run(name, func(b *testing.B) {
			var stored []byte
			for b.Loop() {
				stored = build(b, sets, o, func(int) []int64 { return []int64{20_000} })
			}
			b.ReportMetric(float64(len(stored))/n, "bytes/series")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/series")
			c, err := openFrame(stored)
			require.NoError(b, err)
			for id, section := range c.section {
				b.Logf("section %d: %.1f bytes per series", id, float64(len(section.b))/n)
			}
		})
	}
}

// BenchmarkHandOver hands over the set of all of 5 million series.
func BenchmarkHandOver(b *testing.B) {
	v := (&headView{h: NewHead(Caches{}), n: 5_000_000})
	for b.Loop() {
		if v.all().Count() != 5_000_000 {
			b.Fatal("series are missing")
		}
	}
}
