package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"

	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// itemsOf decodes a payload both ways and returns the items of the plain one.
func itemsOf(t testing.TB, payload []byte) ([]Item, error) {
	t.Helper()
	var items []Item
	d := NewColumnDecoder(payload)
	for d.Next() {
		items = append(items, *d.Item())
	}
	var c Columns
	bulk, err := bulkItems(payload, &c)
	require.Equal(t, d.Err() == nil, err == nil, "%v, %v", d.Err(), err)
	if err != nil {
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorIs(t, d.Err(), ErrCorrupt)
		return nil, err
	}
	requireSameItems(t, items, bulk)
	return items, nil
}

// bulkItems makes items of what DecodeColumns gives.
func bulkItems(payload []byte, c *Columns) (items []Item, err error) {
	if err := DecodeColumns(payload, c); err != nil {
		return nil, err
	}
	err = c.Define(func(ref uint32, lset labels.Labels) {
		items = append(items, Item{Kind: KindSeries, Ref: uint64(ref), Labels: lset.Copy()})
	})
	if err != nil {
		return nil, err
	}
	hs := c.Histograms
	for i, ref := range c.Refs {
		it := Item{Ref: uint64(ref), T: c.Times[i], Value: c.Values[i]}
		if len(c.STs) > 0 {
			it.ST = c.STs[i]
		}
		if len(hs) > 0 && hs[0].At == i {
			it.Histogram, it.FloatHistogram = hs[0].Histogram, hs[0].FloatHistogram
			it.Kind = KindHistogram
			if it.FloatHistogram != nil {
				it.Kind = KindFloatHistogram
			}
			hs = hs[1:]
		}
		items = append(items, it)
	}
	for _, x := range c.Exemplars {
		items = append(items, Item{Kind: KindExemplar, Ref: uint64(x.Ref), T: x.Exemplar.Ts, Exemplar: x.Exemplar})
	}
	for _, m := range c.Metadata {
		items = append(items, Item{Kind: KindMetadata, Family: m.Family, Metadata: m.Metadata})
	}
	return items, nil
}

// requireSameItems compares bit for bit, by the form of version 1.
func requireSameItems(t testing.TB, want, got []Item) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].Kind, got[i].Kind, "item %d", i)
		var a, b Encoder
		encodeItem(&a, &want[i])
		encodeItem(&b, &got[i])
		require.Equal(t, a.Bytes(), b.Bytes(), "item %d: %+v, %+v", i, want[i], got[i])
	}
}

func encodeColumnItem(e *ColumnEncoder, it *Item) {
	ref := uint32(it.Ref)
	switch it.Kind {
	case KindFloat:
		e.Float(ref, it.ST, it.T, it.Value)
	case KindHistogram:
		e.Histogram(ref, it.ST, it.T, it.Histogram)
	case KindFloatHistogram:
		e.FloatHistogram(ref, it.ST, it.T, it.FloatHistogram)
	case KindSeries:
		e.Series(ref, it.Labels)
	case KindExemplar:
		e.Exemplar(ref, it.Exemplar)
	case KindMetadata:
		e.Metadata(it.Family, it.Metadata)
	}
}

// roundTrip encodes items in the order of a frame and expects them back.
func roundTrip(t testing.TB, e *ColumnEncoder, items []Item) []byte {
	t.Helper()
	e.Reset()
	for i := range items {
		encodeColumnItem(e, &items[i])
	}
	got, err := itemsOf(t, e.Bytes())
	require.NoError(t, err)
	requireSameItems(t, items, got)
	return e.Bytes()
}

// floats makes samples of series, each with the values in a row.
func floats(series, row int, next func() float64) []Item {
	var items []Item
	for ref := range series {
		for i := range row {
			items = append(items, Item{Ref: uint64(ref), T: 1700000000000 + int64(i)*15000, Value: next()})
		}
	}
	return items
}

func TestColumnsOfAwkwardValues(t *testing.T) {
	values := append([]float64{
		math.Float64frombits(value.StaleNaN), 159, 160, 3999, 4000, -1, -80, 0.5, -0.25, 1e-9, 123456.789, 1e22, 0.1 + 0.2, 1.0 / 3, 99999.999999999,
		1 << 47, 1<<46 - 1, -(1 << 46), 1<<53 + 2, 100.25, 1e300,
	}, awkward...)
	var e ColumnEncoder
	for _, row := range []int{1, 2, 5} {
		i := 0
		roundTrip(t, &e, floats(len(values), row, func() float64 { i++; return values[i%len(values)] }))
	}
	// Every value after every other one, in one series and by itself.
	for _, a := range values {
		for _, b := range values {
			roundTrip(t, &e, []Item{{Ref: 7, T: 1, Value: a}, {Ref: 7, T: 2, Value: b}, {Ref: 8, T: 2, Value: b}})
		}
	}
}

func TestColumnsKeepTheOrderOfSamples(t *testing.T) {
	h, fh := sampleHistogram(), sampleFloatHistogram()
	var e ColumnEncoder
	roundTrip(t, &e, []Item{
		{Kind: KindSeries, Ref: math.MaxUint32, Labels: labels.FromStrings("__name__", "up", "häst", "ÿ")},
		{Kind: KindSeries, Ref: 0, Labels: labels.EmptyLabels()},
		{Kind: KindHistogram, Ref: 5, T: -5, Histogram: h},
		{Ref: 5, T: -5, Value: 2},
		{Kind: KindFloatHistogram, Ref: 5, ST: math.MinInt64, T: math.MaxInt64, FloatHistogram: fh},
		{Ref: 5, T: math.MinInt64, Value: 2},
		{Ref: math.MaxUint32, T: math.MaxInt64, ST: 1, Value: 0},
		{Ref: 0, T: 0, Value: 0.25},
		{Kind: KindExemplar, Ref: 2, T: 7, Exemplar: exemplar.Exemplar{Labels: labels.FromStrings("trace", "1"), Value: math.NaN(), Ts: 7, HasTs: true}},
		{Kind: KindExemplar, Ref: math.MaxUint32, Exemplar: exemplar.Exemplar{Value: 1}},
		{Kind: KindMetadata, Family: "up", Metadata: metadata.Metadata{Type: "counter", Help: "a\nb", Unit: "bytes"}},
	})
	roundTrip(t, &e, nil)
	require.True(t, e.Empty())
}

func TestColumnsMayGrowAfterBytes(t *testing.T) {
	for seed := range uint64(50) {
		items := randomItems(rand.New(rand.NewPCG(seed, 3)))
		var e ColumnEncoder
		for i := range items {
			encodeColumnItem(&e, &items[i])
			got, err := itemsOf(t, e.Bytes())
			require.NoError(t, err)
			requireSameItems(t, items[:i+1], got)
		}
	}
}

func TestDefinitionsShareLabels(t *testing.T) {
	var e ColumnEncoder
	long := fmt.Sprintf("%0200d", 7)
	sets := []labels.Labels{
		labels.FromStrings("a", "1", "b", "2", "d", "4"),
		labels.FromStrings("a", "1", "b", "2", "d", "4"),
		labels.FromStrings("a", "1", "c", "2", "d", "4"),
		labels.FromStrings("d", "4", "e", long),
		labels.FromStrings("b", "x", "e", long+"1"),
		labels.FromStrings("b", "xy", "e", long+"2", long, long),
		labels.FromStrings("z", "1"),
		labels.EmptyLabels(),
		labels.FromStrings("", "", "a", ""),
	}
	var items []Item
	for i, lset := range sets {
		for _, other := range sets {
			items = append(items, Item{Kind: KindSeries, Ref: uint64(i * 3), Labels: lset}, Item{Kind: KindSeries, Ref: uint64(i*3 + 1), Labels: other})
		}
	}
	roundTrip(t, &e, items)

	// The two ways to define give the same bytes.
	whole := append([]byte(nil), e.Bytes()...)
	e.Reset()
	for _, it := range items {
		e.BeginSeries(uint32(it.Ref))
		it.Labels.Range(func(l labels.Label) { e.Label(l.Name, l.Value) })
		e.EndSeries()
	}
	require.Equal(t, whole, e.Bytes())
	require.Equal(t, len(whole), e.DefinitionBytes()+3)
}

// podLabels are 15 labels of about 400 bytes, as of a container's metrics.
func podLabels(i int) labels.Labels {
	return labels.FromStrings(
		"__name__", []string{"container_cpu_usage_seconds_total", "container_memory_working_set_bytes"}[i%2],
		"cluster", "production-eu-central-1", "container", "checkout-service",
		"endpoint", "https-metrics", "id", fmt.Sprintf("/kubepods/burstable/pod%08x/%016x", i/2, uint64(i/2)*0x9e3779b97f4a7c15),
		"image", "registry.example.com/shop/checkout-service@sha256:5f3c1a0be", "instance", fmt.Sprintf("10.12.%d.%d:10250", i/512%256, i/2%256),
		"job", "kubelet", "metrics_path", "/metrics/cadvisor", "namespace", "shop-production",
		"node", "ip-10-12-0-17.eu-central-1.compute.internal", "pod", fmt.Sprintf("checkout-service-7d9f8b6c5-%05x", i/2),
		"prometheus", "monitoring/k8s", "prometheus_replica", "prometheus-k8s-0", "service", "kubelet")
}

func TestColumnSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var e ColumnEncoder
	f := func(name string, most float64, items []Item) {
		t.Helper()
		got := float64(len(roundTrip(t, &e, items))) / float64(len(items))
		t.Logf("%s: %.2f bytes each", name, got)
		require.LessOrEqual(t, got, most, name)
	}
	small := func() float64 { return float64(rng.IntN(101)) }
	f("a scrape of small integers", 1.01, floats(10000, 1, small))
	var lines []Item // hosts in any order, ten fields each
	for range 1000 {
		host := rng.IntN(4000) * 10
		for field := range 10 {
			lines = append(lines, Item{Ref: uint64(host + field), T: 1700000000000, Value: small()})
		}
	}
	f("lines of ten fields", 1.6, lines)
	f("rows of small integers", 1.6, floats(100, 100, small))
	total := 1e9
	f("rows of a counter", 2.6, floats(100, 100, func() float64 { total += float64(rng.IntN(1000)); return total }))
	f("decimals", 3.1, floats(10000, 1, func() float64 { return float64(rng.IntN(10000)) / 100 }))
	f("doubles", 9.1, floats(10000, 1, rng.Float64))
	var definitions []Item
	for i := range 2000 {
		definitions = append(definitions, Item{Kind: KindSeries, Ref: uint64(i), Labels: podLabels(i)})
	}
	f("definitions", 90, definitions)
}

func TestColumnEncoderDoesNotAllocate(t *testing.T) {
	var e ColumnEncoder
	var c Columns
	sets := []labels.Labels{podLabels(1), podLabels(2), podLabels(5)}
	f := func() {
		e.Reset()
		for i := range uint32(1000) {
			e.Series(i, sets[i%3])
			e.Float(i, 0, 1000, float64(i)/4)
		}
		if err := DecodeColumns(e.Bytes(), &c); err != nil {
			t.Error(err)
		}
		if err := c.Define(func(uint32, labels.Labels) {}); err != nil {
			t.Error(err)
		}
	}
	f()
	require.Zero(t, testing.AllocsPerRun(10, f))
}

// randomItems makes any items in the order of a frame.
func randomItems(rng *rand.Rand) []Item {
	var items []Item
	label := func() string { return strconv.Itoa(rng.IntN(12)) }
	for range rng.IntN(5) {
		b := labels.NewBuilder(labels.EmptyLabels())
		for range rng.IntN(6) {
			b.Set(label(), label()+label())
		}
		items = append(items, Item{Kind: KindSeries, Ref: uint64(rng.Uint32() >> rng.IntN(32)), Labels: b.Labels()})
	}
	ref, at, st, v := uint64(0), int64(0), int64(0), 0.0
	for range rng.IntN(60) {
		if rng.IntN(3) == 0 {
			ref = uint64(rng.Uint32() >> rng.IntN(32))
		}
		at += int64(rng.Uint64()) >> rng.IntN(64)
		if rng.IntN(20) == 0 {
			st = int64(rng.Uint64()) >> rng.IntN(64)
		}
		switch rng.IntN(6) {
		case 0:
			v = awkward[rng.IntN(len(awkward))]
		case 1:
			v = float64(int64(rng.Uint64())>>rng.IntN(64)) / pow10[rng.IntN(len(pow10))]
		case 2:
			v = math.Float64frombits(rng.Uint64() << rng.IntN(64))
		case 3:
			v++
		}
		it := Item{Ref: ref, T: at, ST: st, Value: v}
		switch rng.IntN(20) {
		case 0:
			it.Kind, it.Histogram, it.Value = KindHistogram, sampleHistogram(), 0
		case 1:
			it.Kind, it.FloatHistogram, it.Value = KindFloatHistogram, sampleFloatHistogram(), 0
		}
		items = append(items, it)
	}
	return items
}

func TestRandomColumns(t *testing.T) {
	var e ColumnEncoder
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		items := randomItems(rng)
		payload := append([]byte(nil), roundTrip(t, &e, items)...)
		for range 20 { // damage is told alike both ways
			bad := append([]byte(nil), payload...)
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
			_, _ = itemsOf(t, bad)
		}
		_, _ = itemsOf(t, payload[:rng.IntN(len(payload)+1)])
	}
}

func FuzzColumns(f *testing.F) {
	var e ColumnEncoder
	for seed := range uint64(10) {
		f.Add(append([]byte(nil), roundTrip(f, &e, randomItems(rand.New(rand.NewPCG(seed, 2))))...))
	}
	f.Add([]byte{})
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		items, err := itemsOf(t, b)
		if err != nil {
			return
		}
		tally.Accepted()
		var e ColumnEncoder
		roundTrip(t, &e, items)
	})
}

func TestColumnsDoNotTrustClaims(t *testing.T) {
	f := func(want string, payload []byte) {
		t.Helper()
		_, err := itemsOf(t, payload)
		require.ErrorContains(t, err, want)
	}
	f("ends early", nil)
	f("section is longer", []byte{1, 9})
	f("bytes after", []byte{0, 0})
	// Two values, and a run of refs that claims 2^40 of them.
	refs := (&runEncoder{delta: 1, count: 1 << 40})
	refs.flush()
	payload := append([]byte{1<<sectionRefs | 1<<sectionValues, byte(len(refs.out)), 2}, refs.out...)
	f("longer than its column", append(payload, 1, 1))
}

func benchmarkFrames() map[string][]Item {
	rng := rand.New(rand.NewPCG(1, 2))
	total := 1e9
	return map[string][]Item{
		"ints":     floats(10000, 1, func() float64 { return float64(rng.IntN(101)) }),
		"rows":     floats(100, 100, func() float64 { total += float64(rng.IntN(1000)); return total }),
		"decimals": floats(10000, 1, func() float64 { return float64(rng.IntN(10000)) / 100 }),
		"doubles":  floats(10000, 1, rng.Float64),
		"mixed": floats(10000, 1, func() float64 {
			switch rng.IntN(4) {
			case 0:
				return float64(rng.IntN(100))
			case 1:
				return float64(rng.IntN(10000)) / 100
			case 2:
				return rng.Float64()
			}
			return float64(rng.IntN(1 << 40))
		}),
	}
}

func BenchmarkColumns(b *testing.B) {
	for name, items := range benchmarkFrames() {
		var e ColumnEncoder
		type sample struct {
			ref uint32
			t   int64
			v   float64
		}
		var samples []sample
		for _, it := range items {
			samples = append(samples, sample{uint32(it.Ref), it.T, it.Value})
		}
		encode := func() []byte {
			e.Reset()
			for i := range samples {
				s := &samples[i]
				e.Float(s.ref, 0, s.t, s.v)
			}
			return e.Bytes()
		}
		perSample := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(items)), "ns/sample")
		}
		b.Run("encode/"+name, func(b *testing.B) {
			for b.Loop() {
				encode()
			}
			perSample(b)
		})
		b.Run("encode1/"+name, func(b *testing.B) {
			var old Encoder
			for b.Loop() {
				old.Reset()
				for i := range samples {
					s := &samples[i]
					old.Float(uint64(s.ref), 0, s.t, s.v)
				}
			}
			perSample(b)
		})
		payload := encode()
		b.Run("decode/"+name, func(b *testing.B) {
			var c Columns
			for b.Loop() {
				if err := DecodeColumns(payload, &c); err != nil {
					b.Fatal(err)
				}
			}
			perSample(b)
			b.ReportMetric(float64(len(payload))/float64(len(items)), "B/sample")
		})
	}
}

func BenchmarkDefinitions(b *testing.B) {
	var sets []labels.Labels
	for i := range 1000 {
		sets = append(sets, podLabels(i))
	}
	var e ColumnEncoder
	encode := func() []byte {
		e.Reset()
		for i, lset := range sets {
			e.Series(uint32(i), lset)
		}
		return e.Bytes()
	}
	perSeries := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(sets)), "ns/series")
	}
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			encode()
		}
		perSeries(b)
	})
	payload := encode()
	b.Run("decode", func(b *testing.B) {
		var c Columns
		for b.Loop() {
			if err := DecodeColumns(payload, &c); err != nil {
				b.Fatal(err)
			}
			if err := c.Define(func(uint32, labels.Labels) {}); err != nil {
				b.Fatal(err)
			}
		}
		perSeries(b)
		b.ReportMetric(float64(len(payload))/float64(len(sets)), "B/series")
	})
}
