package tsdb

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/tsdb/internal/head"
	"github.com/varvedb/varve/tsdb/internal/record"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

// replay brings what the log has and no part has into the head. The head is
// flushed whenever it is full, so memory stays bounded.
func (db *DB) replay(flushed uint64) error {
	began := time.Now()
	s := db.acquire()
	r := &replayer{db: db, deletes: slices.Clone(s.tombstones), began: db.head.Enter()}
	defer r.began.Leave()
	s.refs.release()
	slices.SortFunc(r.deletes, func(a, b tombstone) int { return cmp.Compare(a.seq, b.seq) })
	report, err := wal.ReplayAhead(db.log, flushed, decodeFrame, r.frame)
	if err != nil {
		return fmt.Errorf("replay log: %w", err)
	}
	r.enter()
	if err := r.deleteUpTo(math.MaxUint64); err != nil {
		return fmt.Errorf("replay log: %w", err)
	}
	for _, c := range report.Corruptions {
		db.opts.Events.corrupted(fmt.Errorf("log: %w", c))
	}
	if report.QuarantineErr != nil {
		db.opts.Events.backgroundErr("quarantine log", report.QuarantineErr)
	}
	var torn int64
	if report.Torn != nil {
		torn = report.Torn.Bytes
	}
	if r.lost > 0 {
		db.opts.Events.corrupted(fmt.Errorf("log: %d samples lost with the frames that defined their series", r.lost))
	}
	if _, err := db.log.Rotate(); err != nil {
		return fmt.Errorf("begin log segment: %w", err)
	}
	db.releaseLog()
	db.stats.replayed.Store(r.samples)
	db.opts.Events.replayed(ReplayInfo{Frames: r.frames, Samples: r.samples, Torn: torn, Took: time.Since(began)})
	return nil
}

// replayer applies frames in the order of the log.
type replayer struct {
	db      *DB
	segment uint64
	series  refTable         // of the current segment
	began   *head.Generation // keeps them registered
	samples uint64
	frames  uint64
	lost    uint64
	deletes []tombstone // of the manifest, that are still to come
	dec     *record.Decoder

	// batch has the samples of frames that are not in the head yet, of lo to hi.
	batch  head.Samples
	lo, hi uint64
	bytes  int // payloads of those frames
}

// What is gathered of frames before it is brought into the head: many samples of
// one series in a row are quicker than one of each in turn.
const (
	gatherSamples = 1 << 19
	gatherBytes   = 8 << 20
)

// decodedFrame is what goroutines that run ahead make of a frame of columns.
type decodedFrame struct {
	columns record.Columns
	err     error
}

func decodeFrame(f wal.Frame, d *decodedFrame) {
	if f.Type == record.TypeColumns {
		d.err = record.DecodeColumns(f.Payload, &d.columns)
	}
}

func (r *replayer) frame(f wal.Frame, d *decodedFrame) error {
	if f.Segment != r.segment {
		r.segment = f.Segment
		r.series.reset()
	}
	if f.Old { // its samples are in parts, but newer frames may use its series
		r.defineAll(f, d)
		return nil
	}
	if err := r.deleteUpTo(f.Seq); err != nil {
		return err
	}
	r.frames++
	r.gather(f)
	switch f.Type {
	case record.TypeColumns:
		r.applyColumns(f, d)
	case record.TypeBatch:
		r.applyItems(f)
	case record.TypeTombstone:
		r.enter()
		if err := r.tombstone(f); err != nil {
			return err
		}
	default:
		return fmt.Errorf("segment %d at offset %d: unknown frame type %d", f.Segment, f.Offset, f.Type)
	}
	if r.batch.Len() < gatherSamples && int64(r.bytes) < min(gatherBytes, r.db.opts.FlushBytes) {
		return nil
	}
	r.enter()
	if r.db.head.Active().Bytes() < r.db.opts.FlushBytes {
		return nil
	}
	r.db.sealAt(f.Seq)
	return r.db.flushSealed(context.Background())
}

// deleteUpTo carries out what the manifest has of deletes up to a frame: the log
// may have lost them.
func (r *replayer) deleteUpTo(seq uint64) error {
	for len(r.deletes) > 0 && r.deletes[0].seq <= seq {
		r.enter()
		t := &r.deletes[0]
		if _, err := r.db.head.Delete(t.mint, t.maxt, t.matchers); err != nil {
			return fmt.Errorf("delete %d: %w", t.seq, err)
		}
		r.deletes = r.deletes[1:]
	}
	return nil
}

// defineAll takes the series of a frame without its samples.
func (r *replayer) defineAll(f wal.Frame, d *decodedFrame) {
	switch f.Type {
	case record.TypeColumns:
		r.defineColumns(f, d)
	case record.TypeBatch:
		r.decode(f)
		for r.dec.Next() {
			if it := r.dec.Item(); it.Kind == record.KindSeries {
				r.define(it.Ref, it.Labels)
			}
		}
		r.noteDamage(f, r.dec.Err())
	}
}

// defineColumns takes the series that a frame of columns defines. A frame that
// does not decode, though its checksum is right, has none.
func (r *replayer) defineColumns(f wal.Frame, d *decodedFrame) (ok bool) {
	err := d.err
	if err == nil {
		err = d.columns.Define(func(ref uint32, lset labels.Labels) { r.define(uint64(ref), lset) })
	}
	r.noteDamage(f, err)
	return err == nil
}

func (r *replayer) applyColumns(f wal.Frame, d *decodedFrame) {
	if !r.defineColumns(f, d) {
		return
	}
	c := &d.columns
	next := 0
	for _, h := range c.Histograms {
		r.floats(c, next, h.At)
		r.histogram(c, h)
		next = h.At + 1
	}
	r.floats(c, next, len(c.Refs))
	for _, x := range c.Exemplars {
		if s := r.find(uint64(x.Ref)); s != 0 {
			r.batch.AddExemplar(s.Slot(), x.Exemplar)
		}
	}
	for _, m := range c.Metadata {
		r.metadata(m.Family, m.Metadata)
	}
}

// floats takes the samples [i, j) of c, which are floats.
func (r *replayer) floats(c *record.Columns, i, j int) {
	for ; i < j; i++ {
		s := r.find(uint64(c.Refs[i]))
		if s == 0 {
			continue
		}
		st := int64(0)
		if len(c.STs) > 0 {
			st = c.STs[i]
		}
		r.batch.AddFloat(s.Slot(), st, c.Times[i], c.Values[i])
		r.samples++
	}
}

func (r *replayer) histogram(c *record.Columns, h record.HistogramAt) {
	s := r.find(uint64(c.Refs[h.At]))
	if s == 0 {
		return
	}
	x := head.Histogram{Int: h.Histogram, Float: h.FloatHistogram}
	if len(c.STs) > 0 {
		x.ST = c.STs[h.At]
	}
	r.batch.AddHistogram(s.Slot(), c.Times[h.At], x)
	r.samples++
}

// find returns the series of a ref; 0 counts as a loss.
func (r *replayer) find(ref uint64) Series {
	s := r.series.at(ref)
	if s == 0 {
		r.lost++
	}
	return s
}

// gather counts a frame among those whose samples batch has.
func (r *replayer) gather(f wal.Frame) {
	if r.bytes == 0 {
		r.lo = f.Seq
	}
	r.hi = f.Seq
	r.bytes += max(1, len(f.Payload))
}

// enter brings the samples that were gathered into the head.
func (r *replayer) enter() {
	if r.batch.Len() > 0 {
		r.batch.SortBySeries()
		r.db.head.EnqueueFrames(r.lo, r.hi, &r.batch)
		r.db.head.Drain(&r.batch)
		r.batch.Reset()
	}
	r.bytes = 0
}

// applyItems takes a frame of the first version.
func (r *replayer) applyItems(f wal.Frame) {
	r.decode(f)
	for r.dec.Next() {
		r.item(r.dec.Item())
	}
	r.noteDamage(f, r.dec.Err())
}

func (r *replayer) decode(f wal.Frame) {
	if r.dec == nil {
		r.dec = record.NewDecoder(nil)
	}
	r.dec.Reset(f.Payload)
}

func (r *replayer) noteDamage(f wal.Frame, err error) {
	if err != nil {
		r.db.opts.Events.corrupted(fmt.Errorf("log segment %d at offset %d: %w", f.Segment, f.Offset, err))
	}
}

func (r *replayer) item(it *record.Item) {
	switch it.Kind {
	case record.KindSeries:
		r.define(it.Ref, it.Labels)
		return
	case record.KindMetadata:
		r.metadata(it.Family, it.Metadata)
		return
	}
	s := r.find(it.Ref)
	if s == 0 {
		return
	}
	switch it.Kind {
	case record.KindHistogram:
		r.batch.AddHistogram(s.Slot(), it.T, head.Histogram{ST: it.ST, Int: it.Histogram})
	case record.KindFloatHistogram:
		r.batch.AddHistogram(s.Slot(), it.T, head.Histogram{ST: it.ST, Float: it.FloatHistogram})
	case record.KindExemplar:
		r.batch.AddExemplar(s.Slot(), it.Exemplar)
		return
	default:
		r.batch.AddFloat(s.Slot(), it.ST, it.T, it.Value)
	}
	r.samples++
}

func (r *replayer) metadata(family string, m metadata.Metadata) {
	if !r.db.metadata.has(family, m) {
		r.db.metadata.add(family, m)
	}
}

// define registers a series. One that cannot be is as good as undefined.
func (r *replayer) define(ref uint64, lset labels.Labels) {
	s, _, err := r.db.head.Register(lset, r.began)
	if err != nil {
		r.db.opts.Events.corrupted(fmt.Errorf("log segment %d: %w", r.segment, err))
		return
	}
	r.series.put(ref, s)
}

func (r *replayer) tombstone(f wal.Frame) error {
	t, err := record.DecodeTombstone(f.Payload)
	if err != nil {
		return fmt.Errorf("segment %d at offset %d: %w", f.Segment, f.Offset, err)
	}
	matchers := make([]*labels.Matcher, 0, len(t.Matchers))
	for _, m := range t.Matchers {
		matcher, err := labels.NewMatcher(m.Type, m.Name, m.Value)
		if err != nil {
			return fmt.Errorf("segment %d at offset %d: %w", f.Segment, f.Offset, err)
		}
		matchers = append(matchers, matcher)
	}
	return r.db.applyTombstone(tombstone{seq: f.Seq, mint: t.MinT, maxt: t.MaxT, matchers: matchers})
}

// refTable finds the series of a segment by their refs, which are small numbers
// close together, or anything if the log is damaged.
type refTable struct {
	pages  map[uint64]*refPage
	number uint64 // of the page used last
	page   *refPage
}

const refPageLen = 1024

type refPage [refPageLen]Series

func (t *refTable) reset() { *t = refTable{pages: map[uint64]*refPage{}} }

func (t *refTable) at(ref uint64) Series {
	if number := ref / refPageLen; t.page == nil || t.number != number {
		p := t.pages[number]
		if p == nil {
			return 0
		}
		t.number, t.page = number, p
	}
	return t.page[ref%refPageLen]
}

func (t *refTable) put(ref uint64, s Series) {
	number := ref / refPageLen
	if t.pages[number] == nil {
		t.pages[number] = new(refPage)
	}
	t.pages[number][ref%refPageLen] = s
}
