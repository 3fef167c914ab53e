package part

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

func labelsOf(t testing.TB, seg *index.Segment, series uint32) labels.Labels {
	t.Helper()
	var b labels.ScratchBuilder
	lset, err := seg.Labels(series, &b)
	assert.NoError(t, err)
	return lset
}

// requireSame reads everything back, whole and by ranges.
func requireSame(t testing.TB, r *rand.Rand, p *Part, want []testSeries) {
	t.Helper()
	seg, err := p.Index()
	require.NoError(t, err)
	o := uint32(0)
	for _, s := range want {
		if len(s.spans) == 0 && len(s.exemplars) == 0 {
			_, ok := seg.Lookup(s.lset)
			require.False(t, ok)
			continue
		}
		require.Equal(t, s.lset, labelsOf(t, seg, o))
		whole := samplesOf(t, s.cursor(), math.MinInt64, math.MaxInt64)
		require.Equal(t, whole, samplesOf(t, p.Cursor(o, math.MinInt64, math.MaxInt64), math.MinInt64, math.MaxInt64))
		mint, maxt := p.SeriesRange(o)
		if len(s.spans) > 0 {
			require.Equal(t, s.spans[0].MinT(), mint)
			require.Equal(t, s.spans[len(s.spans)-1].MaxT(), maxt)
			from := mint + r.Int64N(maxt-mint+1)
			to := from + r.Int64N(maxt-from+1)
			ranged := p.Cursor(o, from, to)
			require.Equal(t, samplesOf(t, s.cursor(), from, to), samplesOf(t, ranged, math.MinInt64, math.MaxInt64))
		} else {
			require.Greater(t, mint, maxt)
		}
		got, err := p.Exemplars(o, math.MinInt64, math.MaxInt64)
		require.NoError(t, err)
		require.Equal(t, s.exemplars, got)
		o++
	}
	require.EqualValues(t, o, seg.Len())
	requireReaching(t, r, p, o)
}

// requireReaching holds Reaching to SeriesRange, over the times where many series
// begin or end too.
func requireReaching(t testing.TB, r *rand.Rand, p *Part, series uint32) {
	all := make([]uint32, series)
	var times []int64
	for o := range all {
		all[o] = uint32(o)
		if mint, maxt := p.SeriesRange(uint32(o)); mint <= maxt {
			times = append(times, mint, maxt)
		}
	}
	for range min(50, len(times)) {
		mint, maxt := times[r.IntN(len(times))]+r.Int64N(3)-1, times[r.IntN(len(times))]+r.Int64N(3)-1
		mint, maxt = min(mint, maxt), max(mint, maxt)
		some := slices.DeleteFunc(slices.Clone(all), func(uint32) bool { return r.IntN(4) == 0 })
		want := slices.DeleteFunc(slices.Clone(some), func(o uint32) bool {
			first, last := p.SeriesRange(o)
			return first > maxt || last < mint
		})
		require.Equal(t, want, p.Reaching(some, mint, maxt))
	}
}

func TestPartsComeBack(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewMem()
		want := randomSeries(r, 1+r.IntN(60), []int{1, 20, 300, 3000}[seed%4])
		want = append(want, testSeries{lset: labels.FromStrings("z", "only exemplars"), exemplars: []exemplar.Exemplar{{Labels: labels.EmptyLabels(), Ts: dayStart}}})
		opts := WriterOptions{BlockSamples: []int{0, 7, 100}[seed%3]}
		m := writePart(t, fs, "tmp-a", opts, want)
		require.NoError(t, fs.Rename("tmp-a", "a"))
		p := openPart(t, fs, "a")
		require.Equal(t, m, p.Meta())
		require.EqualValues(t, 3, m.SeqMin)
		requireSame(t, r, p, want)
		require.NoError(t, p.Verify(func(problem Problem) { require.Fail(t, "damage", "%v", problem) }))
		require.NoError(t, p.Close())
	}
}

func TestOverlapLooksAtBlocks(t *testing.T) {
	fs := vfs.NewMem()
	f := func(start int64, n int) block.Span {
		return block.Span{Kind: block.KindFloat, Count: n, Start: start, Step: 1, Floats: make([]float64, n)}
	}
	writePart(t, fs, "a", WriterOptions{BlockSamples: 10}, []testSeries{
		{lset: labels.FromStrings("a", "0"), spans: []block.Span{f(dayStart, 10)}},
		{lset: labels.FromStrings("a", "1"), spans: []block.Span{f(dayStart, 10), f(dayStart+100, 10)}},
		{lset: labels.FromStrings("a", "2"), spans: []block.Span{f(dayStart+50, 5)}},
	})
	p := openPart(t, fs, "a")
	g := func(mint, maxt int64, want ...uint32) {
		t.Helper()
		got, err := p.Overlap([]uint32{0, 1, 2}, dayStart+mint, dayStart+maxt)
		require.NoError(t, err)
		require.ElementsMatch(t, want, got)
	}
	g(0, 0, 0, 1)
	g(9, 50, 0, 1, 2)
	g(10, 49)
	g(55, 99)
	g(105, 200, 1)
	g(-100, -1)
}

func TestWriterRefuses(t *testing.T) {
	f := func(name string, want error, opts WriterOptions, list ...testSeries) {
		t.Helper()
		fs := vfs.NewMem()
		w, err := Create(fs, "tmp-x", opts)
		require.NoError(t, err)
		err = writeAll(w, list)
		if err == nil {
			_, err = w.Commit(1, 1)
		}
		require.ErrorIs(t, err, want, name)
		require.NoError(t, w.Abort())
		_, err = fs.Stat("tmp-x")
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	one := func(name string, at ...int64) testSeries {
		return testSeries{lset: labels.FromStrings("a", name), spans: []block.Span{{Kind: block.KindFloat, Count: len(at), Times: at, Floats: make([]float64, len(at))}}}
	}
	f("next day", ErrRange, WriterOptions{}, one("a", dayStart, dayStart+dayMillis))
	f("day before", ErrRange, WriterOptions{}, one("a", dayStart), one("b", dayStart-1))
	f("next month", ErrRange, WriterOptions{AllowMonth: true}, one("a", dayStart), one("b", dayStart+9*dayMillis))
	f("order", ErrOrder, WriterOptions{}, one("a", dayStart, dayStart))
	f("label order", index.ErrOrder, WriterOptions{}, one("b", dayStart), one("a", dayStart))
	f("twice", index.ErrOrder, WriterOptions{}, one("b", dayStart), one("b", dayStart+1))
	f("exemplar", ErrRange, WriterOptions{}, one("b", dayStart), testSeries{lset: labels.FromStrings("c", "d"), exemplars: []exemplar.Exemplar{{Ts: 5}}})
	failing := one("a", dayStart)
	w, err := Create(vfs.NewMem(), "d", WriterOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, w.Add(failing.lset, &sliceCursor{err: os.ErrInvalid}), os.ErrInvalid)
}

func TestEmptyPartIsNone(t *testing.T) {
	fs := vfs.NewMem()
	m := writePart(t, fs, "tmp-x", WriterOptions{}, []testSeries{{lset: labels.FromStrings("a", "b")}})
	require.Zero(t, m)
	_, err := fs.Stat("tmp-x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestMonthParts(t *testing.T) {
	fs := vfs.NewMem()
	list := []testSeries{{lset: labels.FromStrings("a", "b"), spans: []block.Span{{Kind: block.KindFloat, Count: 3, Start: dayStart, Step: dayMillis, Floats: []float64{1, 2, 3}}}}}
	writePart(t, fs, "m", WriterOptions{AllowMonth: true}, list)
	requireSame(t, rand.New(rand.NewPCG(1, 1)), openPart(t, fs, "m"), list)
}

// TestEveryFailureOfWriting makes the k-th operation fail, for every k.
func TestEveryFailureOfWriting(t *testing.T) {
	list := randomSeries(rand.New(rand.NewPCG(3, 3)), 20, 50)
	for k := int64(1); ; k++ {
		mem := vfs.NewMem()
		fault := vfs.NewFault(mem)
		fault.FailOp(k)
		fault.ShortWrites(true)
		w, err := Create(fault, "tmp-a", WriterOptions{})
		if err == nil {
			if err = writeAll(w, list); err == nil {
				_, err = w.Commit(1, 2)
			}
			if err != nil {
				require.NoError(t, w.Abort())
				_, statErr := mem.Stat("tmp-a")
				require.ErrorIs(t, statErr, os.ErrNotExist)
			}
		}
		if fault.Fired() == 0 {
			require.NoError(t, err)
			require.Greater(t, k, int64(10))
			return
		}
		require.ErrorIs(t, err, vfs.ErrInjected, "operation %d", k)
	}
}

// TestEveryFailureOfReading does the same for reading.
func TestEveryFailureOfReading(t *testing.T) {
	list := randomSeries(rand.New(rand.NewPCG(3, 3)), 8, 50)
	mem := vfs.NewMem()
	writePart(t, mem, "a", WriterOptions{}, list)
	for k := int64(1); ; k++ {
		fault := vfs.NewFault(mem)
		fault.FailOp(k)
		_, err := readAll(fault, "a")
		if fault.Fired() == 0 {
			require.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, vfs.ErrInjected, "operation %d", k)
	}
}

// readAll lists all that a part holds.
func readAll(fs vfs.FS, dir string) (out []string, err error) {
	p, err := Open(fs, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := p.Close(); err == nil {
			err = closeErr
		}
	}()
	return readOpen(p)
}

// readOpen is readAll for a part that is open.
func readOpen(p *Part) (out []string, err error) {
	seg, err := p.Index()
	if err != nil {
		return nil, err
	}
	out = append(out, fmt.Sprintf("%+v", p.Meta()))
	var b labels.ScratchBuilder
	for o := range uint32(seg.Len()) {
		lset, err := seg.Labels(o, &b)
		if err != nil {
			return nil, err
		}
		out = append(out, lset.String())
		samples, err := collect(p.Cursor(o, math.MinInt64, math.MaxInt64), math.MinInt64, math.MaxInt64)
		if err != nil {
			return nil, err
		}
		exemplars, err := p.Exemplars(o, math.MinInt64, math.MaxInt64)
		if err != nil {
			return nil, err
		}
		out = append(append(out, samples...), fmt.Sprint(exemplars))
	}
	return out, nil
}

// TestEveryFlippedByte flips each byte of a part: what is read is either right
// or an error, and Verify and the error name the file.
func TestEveryFlippedByte(t *testing.T) {
	for _, write := range []func(testing.TB, vfs.FS, string, WriterOptions, []testSeries) Meta{writeTables, writePart} {
		mem := vfs.NewMem()
		write(t, mem, "a", WriterOptions{BlockSamples: 20}, randomSeries(rand.New(rand.NewPCG(5, 5)), 12, 30))
		testFlips(t, mem)
	}
}

func testFlips(t *testing.T, mem *vfs.Mem) {
	want, err := readAll(mem, "a")
	require.NoError(t, err)
	names, err := mem.List("a")
	require.NoError(t, err)
	require.Equal(t, []string{DataFile, ExemplarFile, IndexFile}, names)
	for _, name := range names {
		good, err := vfs.ReadFile(mem, "a/"+name)
		require.NoError(t, err)
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 0x41
			overwrite(t, mem, "a/"+name, bad)
			got, err := readAll(mem, "a")
			if err == nil {
				require.Equal(t, want, got, "%s byte %d", name, i)
				continue
			}
			if !isVersion(err) {
				var damage *block.CorruptionError
				require.ErrorAs(t, err, &damage, "%s byte %d", name, i)
				require.Equal(t, "a/"+name, damage.File, "%s byte %d: %v", name, i, err)
				require.NotEmpty(t, problems(t, mem, "a"), "%s byte %d", name, i)
			}
		}
		overwrite(t, mem, "a/"+name, good)
	}
}

// TestFlippedBytesOfLargeGroups flips some bytes of groups whose blocks and columns
// of times have a checksum each.
func TestFlippedBytesOfLargeGroups(t *testing.T) {
	mem := vfs.NewMem()
	list := append(scraped(3, 20, 900), tsbs(1, 2000)...)
	slices.SortFunc(list, func(a, b testSeries) int { return labels.Compare(a.lset, b.lset) })
	writePart(t, mem, "a", WriterOptions{}, list)
	g := groupsOf(t, openPart(t, mem, "a"))
	require.Zero(t, g.at(groupShared, 0))
	want, err := readAll(mem, "a")
	require.NoError(t, err)
	good, err := vfs.ReadFile(mem, "a/data")
	require.NoError(t, err)
	times := int(g.at(groupOffset, 0) + g.at(groupBody, 0))
	r := rand.New(rand.NewPCG(2, 2))
	for k := range 120 {
		at := r.IntN(len(good))
		if k%3 == 0 {
			at = times - 1 - r.IntN(1500) // columns of times end the body
		}
		bad := bytes.Clone(good)
		bad[at] ^= byte(1 << r.IntN(8))
		overwrite(t, mem, "a/data", bad)
		got, err := readAll(mem, "a")
		if err == nil {
			require.Equal(t, want, got, "byte %d", at)
			continue
		}
		var damage *block.CorruptionError
		if !isVersion(err) {
			require.ErrorAs(t, err, &damage, "byte %d", at)
			require.Equal(t, "a/data", damage.File)
			require.NotEmpty(t, problems(t, mem, "a"), "byte %d", at)
		}
	}
}

func problems(t testing.TB, fs vfs.FS, dir string) []Problem {
	p, err := Open(fs, dir)
	if err != nil {
		return []Problem{{Cause: err}}
	}
	var out []Problem
	require.NoError(t, p.Verify(func(problem Problem) { out = append(out, problem) }))
	return out
}

func overwrite(t testing.TB, fs vfs.FS, name string, content []byte) {
	f, err := fs.Create(name)
	require.NoError(t, err)
	_, err = f.Write(content)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestVerifyGoesOn damages the first block of a group, and the page of another
// one, and expects both to be named and no other block to suffer.
func TestVerifyGoesOn(t *testing.T) {
	mem := vfs.NewMem()
	list := randomSeries(rand.New(rand.NewPCG(8, 8)), 200, 1000)
	m := writePart(t, mem, "a", WriterOptions{}, list)
	p := openPart(t, mem, "a")
	g := groupsOf(t, p)
	require.Greater(t, g.table.Rows(), 1)
	require.Zero(t, g.at(groupShared, 0))
	b, err := vfs.ReadFile(mem, "a/data")
	require.NoError(t, err)
	last := g.table.Rows() - 1
	block0, page := int64(g.at(groupOffset, 0)), int64(g.at(groupOffset, last)+g.at(groupBody, last))
	b[block0] ^= 1
	b[page+5] ^= 1
	overwrite(t, mem, "a/data", b)
	var got []int64
	for _, problem := range problems(t, mem, "a") {
		got = append(got, problem.Offset)
	}
	require.Equal(t, []int64{block0, page}, got)
	p = openPart(t, mem, "a")
	samples, failures := uint64(0), 0
	for o := range uint32(m.Series) {
		c := p.Cursor(o, math.MinInt64, math.MaxInt64)
		for c.Next() {
			samples += uint64(c.Span().Count)
		}
		if c.Err() != nil {
			failures++
		}
	}
	first, err := groupsOf(t, p).page(0)
	require.NoError(t, err)
	require.Less(t, failures, b1.PageBlocks+2)
	require.Greater(t, samples, m.Samples-g.at(groupSamples, last)-uint64(3*first.rows.Count(0)))
}

func groupsOf(t testing.TB, p *Part) *groups {
	l, err := p.load()
	require.NoError(t, err)
	g, ok := l.samples.(*groups)
	require.True(t, ok)
	return g
}

func TestMissingFilesAreProblems(t *testing.T) {
	for _, name := range []string{IndexFile, ExemplarFile} {
		mem := vfs.NewMem()
		writePart(t, mem, "a", WriterOptions{}, randomSeries(rand.New(rand.NewPCG(5, 5)), 12, 30))
		require.NoError(t, mem.Remove("a/"+name))
		found := problems(t, mem, "a")
		require.Len(t, found, 1)
		require.ErrorIs(t, found[0].Cause, os.ErrNotExist)
	}
}

// TestGoldenParts reads a part of every version as it was first written.
func TestGoldenParts(t *testing.T) {
	for version := 1; version <= Version; version++ {
		testGolden(t, version, randomSeries(rand.New(rand.NewPCG(11, 11)), 14, 12))
	}
}

func testGolden(t *testing.T, version int, list []testSeries) {
	dir := filepath.Join("testdata", fmt.Sprint("v", version))
	if os.Getenv("VARVE_REWRITE") != "" && version == Version {
		require.NoError(t, os.RemoveAll(dir))
		writePart(t, vfs.OS{}, dir, WriterOptions{}, list)
		var out bytes.Buffer
		require.NoError(t, openPart(t, vfs.OS{}, dir).Dump(&out, true))
		require.NoError(t, os.WriteFile(dir+".dump", out.Bytes(), 0o644))
	}
	p := openPart(t, vfs.OS{}, dir)
	requireSame(t, rand.New(rand.NewPCG(1, 1)), p, list)
	want, err := os.ReadFile(dir + ".dump")
	require.NoError(t, err)
	var got bytes.Buffer
	require.NoError(t, p.Dump(&got, true))
	require.Equal(t, string(want), got.String())
	require.NoError(t, p.Close())
}

// TestManyReaders reads one part from many goroutines at once.
func TestManyReaders(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 21))
	fs := vfs.NewMem()
	list := randomSeries(r, 60, 200)
	writePart(t, fs, "a", WriterOptions{BlockSamples: 50}, list)
	want, err := readAll(fs, "a")
	require.NoError(t, err)
	p := openPart(t, fs, "a")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 60 {
				seg, err := p.Index()
				if !assert.NoError(t, err) {
					return
				}
				o := uint32(r.IntN(seg.Len()))
				lset := labelsOf(t, seg, o).String()
				got, err := collect(p.Cursor(o, math.MinInt64, math.MaxInt64), math.MinInt64, math.MaxInt64)
				if !assert.NoError(t, err) {
					return
				}
				at := slices.Index(want, lset) + 1
				if !assert.Equal(t, want[at:at+len(got)], append([]string{}, got...)) {
					return
				}
			}
		}()
	}
	wg.Wait()
	require.NoError(t, p.Close())
}

// TestTimesAreStoredOnce writes series of a few targets that are scraped with
// jitter: the columns of times are as many as targets.
func TestTimesAreStoredOnce(t *testing.T) {
	fs := vfs.NewMem()
	list := scraped(5, 40, 1000)
	m := writePart(t, fs, "a", WriterOptions{}, list)
	p := openPart(t, fs, "a")
	requireSame(t, rand.New(rand.NewPCG(1, 1)), p, list)
	refs := map[uint64]bool{}
	g := groupsOf(t, p)
	for i := range g.table.Rows() {
		page, err := g.page(i)
		require.NoError(t, err)
		for k := range page.rows.Len() {
			var h b1.Header
			require.NoError(t, page.rows.Header(k, &h))
			refs[h.TimesRef] = true
		}
	}
	require.Len(t, refs, 5)
	require.Less(t, float64(m.Bytes)/float64(m.Samples), 0.6)
}

// scraped makes the given number of series of each target.
func scraped(targets, series, samples int) []testSeries {
	r := rand.New(rand.NewPCG(6, 6))
	columns := make([][]int64, targets)
	for i := range columns {
		for k := range samples {
			columns[i] = append(columns[i], dayStart+int64(k)*15000+r.Int64N(9))
		}
	}
	var out []testSeries
	for i := range series {
		for k := range targets {
			v := float64(r.IntN(100))
			s := block.Span{Kind: block.KindFloat, Count: samples, Times: columns[k]}
			for range samples {
				s.Floats = append(s.Floats, value(r, 0, &v))
			}
			out = append(out, testSeries{lset: labels.FromStrings("__name__", fmt.Sprintf("metric_%04d", i), "instance", fmt.Sprint(k)), spans: []block.Span{s}})
		}
	}
	return out
}

// TestFormatsAgree reads the same samples out of parts of both formats.
func TestFormatsAgree(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 77))
		list := randomSeries(r, 1+r.IntN(200), []int{2, 40, 700}[seed%3])
		opts := WriterOptions{BlockSamples: []int{0, 50}[seed%2]}
		fs := vfs.NewMem()
		writeTables(t, fs, "old", opts, list)
		writePart(t, fs, "new", opts, list)
		old, err := readAll(fs, "old")
		require.NoError(t, err)
		now, err := readAll(fs, "new")
		require.NoError(t, err)
		require.Equal(t, old[1:], now[1:])
		a, b := openPart(t, fs, "old"), openPart(t, fs, "new")
		all := make([]uint32, a.Meta().Series)
		for o := range all {
			all[o] = uint32(o)
			mint, maxt := a.SeriesRange(uint32(o))
			mint2, maxt2 := b.SeriesRange(uint32(o))
			require.Equal(t, []int64{mint, maxt}, []int64{mint2, maxt2})
		}
		for range 20 {
			mint := dayStart + r.Int64N(60000)
			maxt := mint + r.Int64N(5000)
			want, err := a.Overlap(slices.Clone(all), mint, maxt)
			require.NoError(t, err)
			got, err := b.Overlap(slices.Clone(all), mint, maxt)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}
