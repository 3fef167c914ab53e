package inspect

import (
	"io"
	"maps"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/record"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

// ReplayLog prints what a store that is opened would take from the log: of each
// segment the frames that are not in parts yet, their series, samples and times.
// It writes nothing and keeps no samples.
func (s *Store) ReplayLog(out io.Writer) error {
	r := &report{out: out}
	state, _, err := s.manifest(r)
	if err != nil {
		return err
	}
	v := replayer{report: r, after: state.FlushedSeq, segments: map[uint64]*replayed{}, series: map[string]bool{}}
	found, err := s.scan(v.frame)
	if err != nil {
		return err
	}
	rows := [][]any{{"SEGMENT", "FLUSHED", "FRAMES", "SERIES", "SAMPLES", "DELETES", "FROM", "TO"}}
	all := replayed{mint: math.MaxInt64, maxt: math.MinInt64}
	for _, number := range slices.Sorted(maps.Keys(v.segments)) {
		x := v.segments[number]
		rows = append(rows, []any{wal.SegmentName(number), x.old, x.frames, len(x.series), x.samples, x.deletes, x.from(), x.to()})
		all.frames += x.frames
		all.samples += x.samples
		all.mint, all.maxt = min(all.mint, x.mint), max(all.maxt, x.maxt)
	}
	if len(rows) > 1 {
		r.table(rows)
	}
	logDamage(r, found)
	r.printf("after sequence number %d: %d frames of %d series, %d samples from %s to %s\n", v.after, all.frames, len(v.series), all.samples, all.from(), all.to())
	return r.result()
}

// replayed is what a segment has.
type replayed struct {
	old, frames, samples, deletes int
	series                        map[string]bool
	mint, maxt                    int64
}

func (x *replayed) from() string { return stampIf(x.samples > 0, x.mint) }
func (x *replayed) to() string   { return stampIf(x.samples > 0, x.maxt) }

func stampIf(known bool, t int64) string {
	if !known {
		return "-"
	}
	return stamp(t)
}

type replayer struct {
	*report
	after    uint64
	names    logNames
	segments map[uint64]*replayed
	series   map[string]bool
}

func (v *replayer) frame(f wal.Frame) error {
	x := v.segments[f.Segment]
	if x == nil {
		x = &replayed{series: map[string]bool{}, mint: math.MaxInt64, maxt: math.MinInt64}
		v.segments[f.Segment] = x
	}
	old := f.Seq <= v.after
	if old {
		x.old++
	} else {
		x.frames++
		if f.Type == record.TypeTombstone {
			x.deletes++
		}
	}
	err := v.names.walk(f, func(it *record.Item, lset labels.Labels) {
		if old {
			return
		}
		name := lset.String()
		x.series[name], v.series[name] = true, true
		x.samples++
		x.mint, x.maxt = min(x.mint, it.T), max(x.maxt, it.T)
	})
	if err != nil {
		v.damaged("log: segment %d at offset %d: frame %d: %v", f.Segment, f.Offset, f.Seq, err)
	}
	return nil
}
