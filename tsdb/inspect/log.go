package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/varvedb/varve/tsdb/internal/record"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

// scan reads the log. A store without one has none yet.
func (s *Store) scan(fn func(wal.Frame) error) (wal.ReplayReport, error) {
	report, err := wal.Scan(s.fs, path.Join(s.dir, walDir), fn)
	if errors.Is(err, fs.ErrNotExist) {
		return wal.ReplayReport{}, nil
	}
	return report, err
}

// ListLog prints one line for each segment of the log.
func (s *Store) ListLog(out io.Writer) error {
	r := &report{out: out}
	found, err := s.scan(func(wal.Frame) error { return nil })
	if err != nil {
		return err
	}
	rows := [][]any{{"SEGMENT", "BYTES", "FRAMES", "FIRST", "LAST", "STATE"}}
	var bytes int64
	for _, info := range found.Segments {
		state := "sound"
		switch {
		case info.Damaged:
			state = "damaged"
		case found.Torn != nil && found.Torn.Segment == info.Number:
			state = "torn end"
		}
		bytes += info.Bytes
		rows = append(rows, []any{wal.SegmentName(info.Number), info.Bytes, info.Frames, info.FirstSeq, info.LastSeq, state})
	}
	if len(found.Segments) > 0 {
		r.table(rows)
	}
	r.printf("%d segments, %d frames, %d bytes\n", len(found.Segments), found.Frames, bytes)
	logDamage(r, found)
	return r.result()
}

// logDamage prints the damage that a scan met.
func logDamage(r *report, found wal.ReplayReport) {
	for _, c := range found.Corruptions {
		r.damaged("log: %v", c)
	}
	if more := found.CorruptionCount - len(found.Corruptions); more > 0 {
		r.damage += more - 1
		r.damaged("log: %d more places", more)
	}
	if found.Torn != nil {
		r.printf("torn end, of a crash or of a write under way: %v\n", found.Torn)
	}
}

// VerifyLog reads every frame, decodes it, and looks whether every series it
// uses is defined.
func (s *Store) VerifyLog(out io.Writer) error {
	r := &report{out: out}
	if err := s.verifyLog(r); err != nil {
		return err
	}
	return r.result()
}

func (s *Store) verifyLog(r *report) error {
	before := r.damage
	v := logVerifier{report: r}
	found, err := s.scan(v.frame)
	if err != nil {
		return err
	}
	logDamage(r, found)
	if v.undefined > 0 {
		r.damaged("log: %d items of series that no frame before them defines, the first at segment %d offset %d", v.undefined, v.at.Segment, v.at.Offset)
	}
	if r.damage == before {
		r.printf("log is sound: %d segments, %d frames, %s\n", len(found.Segments), found.Frames, v.count)
	}
	return nil
}

// logVerifier decodes frames and knows which series their segment defines.
type logVerifier struct {
	*report
	segment   uint64
	defined   map[uint64]bool
	count     itemCount
	undefined int
	at        wal.Frame // the first with an undefined series
}

func (v *logVerifier) frame(f wal.Frame) error {
	if v.defined == nil || f.Segment != v.segment {
		v.segment, v.defined = f.Segment, map[uint64]bool{}
	}
	err := walkItems(f, func(it *record.Item) {
		v.count.add(it)
		if it.Kind == record.KindSeries {
			v.defined[it.Ref] = true
		} else if it.Kind != record.KindMetadata && !v.defined[it.Ref] {
			if v.undefined == 0 {
				v.at = f
			}
			v.undefined++
		}
	}, func(record.Tombstone) { v.count.deletes++ })
	if err != nil {
		v.damaged("log: segment %d at offset %d: frame %d: %v", f.Segment, f.Offset, f.Seq, err)
	}
	return nil
}

// walkItems calls item with the items of a batch, or tombstone with a delete.
func walkItems(f wal.Frame, item func(*record.Item), tombstone func(record.Tombstone)) error {
	switch f.Type {
	case record.TypeBatch:
		dec := record.NewDecoder(f.Payload)
		for dec.Next() {
			item(dec.Item())
		}
		return dec.Err()
	case record.TypeColumns:
		dec := record.NewColumnDecoder(f.Payload)
		for dec.Next() {
			item(dec.Item())
		}
		return dec.Err()
	case record.TypeTombstone:
		t, err := record.DecodeTombstone(f.Payload)
		if err == nil {
			tombstone(t)
		}
		return err
	}
	return fmt.Errorf("unknown frame type %d", f.Type)
}

// itemCount counts what frames hold.
type itemCount struct{ series, floats, histograms, exemplars, metadata, deletes int }

func (c *itemCount) add(it *record.Item) {
	switch it.Kind {
	case record.KindSeries:
		c.series++
	case record.KindFloat:
		c.floats++
	case record.KindHistogram, record.KindFloatHistogram:
		c.histograms++
	case record.KindExemplar:
		c.exemplars++
	case record.KindMetadata:
		c.metadata++
	}
}

func (c itemCount) String() string {
	return fmt.Sprintf("%d definitions, %d floats, %d histograms, %d exemplars, %d metadata, %d deletes",
		c.series, c.floats, c.histograms, c.exemplars, c.metadata, c.deletes)
}

// DumpLog prints one line for each frame, and with items set one for each item
// in it. A segment other than 0 is printed alone.
func (s *Store) DumpLog(out io.Writer, items bool, segment uint64) error {
	r := &report{out: out}
	found, err := s.scan(func(f wal.Frame) error {
		if segment == 0 || f.Segment == segment {
			dumpFrame(r, f, items)
		}
		return r.err
	})
	if err != nil && r.err == nil {
		return err
	}
	logDamage(r, found)
	return r.result()
}

func dumpFrame(r *report, f wal.Frame, items bool) {
	var count itemCount
	err := walkItems(f, func(it *record.Item) { count.add(it) }, func(record.Tombstone) { count.deletes++ })
	r.printf("segment %d offset %d frame %d: %d bytes: %s\n", f.Segment, f.Offset, f.Seq, len(f.Payload), count)
	if items {
		err = walkItems(f, func(it *record.Item) { dumpItem(r, it) }, func(t record.Tombstone) { dumpTombstone(r, t) })
	}
	if err != nil {
		r.damaged("log: segment %d at offset %d: frame %d: %v", f.Segment, f.Offset, f.Seq, err)
	}
}

func dumpItem(r *report, it *record.Item) {
	since := ""
	if it.ST != 0 {
		since = fmt.Sprintf(" since %d", it.ST)
	}
	switch it.Kind {
	case record.KindSeries:
		r.printf("  series %d %s\n", it.Ref, it.Labels)
	case record.KindFloat:
		r.printf("  float %d %d%s %s\n", it.Ref, it.T, since, valueText(it.Value))
	case record.KindHistogram:
		r.printf("  histogram %d %d%s %s hint %d\n", it.Ref, it.T, since, it.Histogram, it.Histogram.CounterResetHint)
	case record.KindFloatHistogram:
		r.printf("  float histogram %d %d%s %s hint %d\n", it.Ref, it.T, since, it.FloatHistogram, it.FloatHistogram.CounterResetHint)
	case record.KindExemplar:
		r.printf("  exemplar %d %d %v %s\n", it.Ref, it.T, it.Exemplar.Value, it.Exemplar.Labels)
	case record.KindMetadata:
		r.printf("  metadata %s type %q unit %q help %q\n", it.Family, it.Metadata.Type, it.Metadata.Unit, it.Metadata.Help)
	}
}

// valueText writes a value so that it can be told from any other.
func valueText(v float64) string {
	switch {
	case value.IsStaleNaN(v):
		return "stale"
	case math.IsNaN(v):
		return fmt.Sprintf("NaN %016x", math.Float64bits(v))
	}
	return fmt.Sprint(v)
}

func dumpTombstone(r *report, t record.Tombstone) {
	r.printf("  delete %s to %s", stamp(t.MinT), stamp(t.MaxT))
	for _, m := range t.Matchers {
		r.printf(" %s%s%q", m.Name, operator(uint8(min(m.Type, labels.MatchNotRegexp+1))), m.Value)
	}
	r.printf("\n")
}
