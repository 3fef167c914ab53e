package inspect

import (
	"fmt"
	"io"
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/record"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

// Find prints where samples of the series are that matchers select: in which
// parts, how many, in how many bytes of values, and those of the log. With series
// set it prints each of them too. Samples that a delete hides are counted as long
// as they are there.
func (s *Store) Find(out io.Writer, series bool, ms ...*labels.Matcher) error {
	f := finder{report: &report{out: out}, ms: ms, series: series, all: newFound()}
	if err := s.forParts(f.report, nil, f.part); err != nil {
		return err
	}
	if err := f.log(s); err != nil {
		return err
	}
	f.finish()
	return f.result()
}

type finder struct {
	*report
	ms     []*labels.Matcher
	series bool
	rows   [][]any
	lines  []string
	all    *found
}

// found is what there is of some series.
type found struct {
	series         int
	samples, bytes uint64
	mint, maxt     int64
}

func (f *found) add(samples, bytes uint64, mint, maxt int64) {
	f.samples += samples
	f.bytes += bytes
	f.mint, f.maxt = min(f.mint, mint), max(f.maxt, maxt)
}

func (f *finder) part(ref partRef, p *part.Part) error {
	chosen, err := choose(p, f.ms)
	if err != nil {
		return err
	}
	bySeries := map[uint32]*found{}
	var order []uint32
	if err := p.EachBlock(chosen, func(b *part.BlockInfo) error {
		if bySeries[b.Series] == nil {
			bySeries[b.Series] = newFound()
			order = append(order, b.Series)
		}
		bySeries[b.Series].add(uint64(b.Samples), uint64(b.Bytes), b.MinT, b.MaxT)
		return nil
	}, func(loss part.Loss) { f.damaged("part %s: %s", ref.name(), lossText(loss)) }); err != nil {
		return err
	}
	names := newNames(p)
	where := ref.info.Month + "/" + ref.name()
	sum := newFound()
	sum.series = len(order)
	var lines []string
	for _, o := range order {
		x := bySeries[o]
		sum.add(x.samples, x.bytes, x.mint, x.maxt)
		if f.series {
			lines = append(lines, seriesLine(names.of(o), x))
		}
	}
	f.row(where, sum, lines)
	return names.err
}

func seriesLine(name string, x *found) string {
	return fmt.Sprintf("  %s: %d samples from %s to %s, %d bytes", name, x.samples, stamp(x.mint), stamp(x.maxt), x.bytes)
}

// row adds a line to the table, if anything was found.
func (f *finder) row(where string, sum *found, lines []string) {
	if sum.series == 0 {
		return
	}
	f.rows = append(f.rows, []any{where, sum.series, sum.samples, stamp(sum.mint), stamp(sum.maxt), sum.bytes, perSample(sum.bytes, sum.samples)})
	f.all.add(sum.samples, sum.bytes, sum.mint, sum.maxt)
	if len(lines) > 0 {
		f.lines = append(f.lines, where)
		f.lines = append(f.lines, lines...)
	}
}

// log looks through the frames that are not in parts yet.
func (f *finder) log(s *Store) error {
	state, _, err := s.manifest(&report{out: io.Discard}) // its damage was told
	if err != nil {
		return err
	}
	bySeries := map[string]*found{}
	var order []string
	names := logNames{}
	scanned, err := s.scan(func(frame wal.Frame) error {
		err := names.walk(frame, func(it *record.Item, lset labels.Labels) {
			if frame.Seq <= state.FlushedSeq || !matches(lset, f.ms) {
				return
			}
			key := lset.String()
			if bySeries[key] == nil {
				bySeries[key] = newFound()
				order = append(order, key)
			}
			bySeries[key].add(1, 0, it.T, it.T)
		})
		if err != nil {
			f.damaged("log: segment %d at offset %d: frame %d: %v", frame.Segment, frame.Offset, frame.Seq, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	logDamage(f.report, scanned)
	sum := newFound()
	sum.series = len(order)
	var lines []string
	for _, key := range order {
		x := bySeries[key]
		sum.add(x.samples, x.bytes, x.mint, x.maxt)
		if f.series {
			lines = append(lines, seriesLine(key, x))
		}
	}
	f.row("log", sum, lines)
	return nil
}

func newFound() *found { return &found{mint: math.MaxInt64, maxt: math.MinInt64} }

// matches tells whether all matchers accept a label set.
func matches(lset labels.Labels, ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

// logNames knows the series that the segment being read defines.
type logNames struct {
	segment uint64
	defined map[uint64]labels.Labels
}

// walk calls sample with the samples of a frame whose series are defined.
func (n *logNames) walk(f wal.Frame, sample func(*record.Item, labels.Labels)) error {
	if n.defined == nil || n.segment != f.Segment {
		n.segment, n.defined = f.Segment, map[uint64]labels.Labels{}
	}
	return walkItems(f, func(it *record.Item) {
		switch it.Kind {
		case record.KindSeries:
			n.defined[it.Ref] = it.Labels
		case record.KindFloat, record.KindHistogram, record.KindFloatHistogram:
			if lset, ok := n.defined[it.Ref]; ok {
				sample(it, lset)
			}
		}
	}, func(record.Tombstone) {})
}

func (f *finder) finish() {
	if len(f.rows) > 0 {
		f.table(append([][]any{{"WHERE", "SERIES", "SAMPLES", "FROM", "TO", "BYTES", "B/SAMPLE"}}, f.rows...))
	}
	for _, line := range f.lines {
		f.printf("%s\n", line)
	}
	f.printf("%d samples in %d places, %d bytes of values\n", f.all.samples, len(f.rows), f.all.bytes)
}
