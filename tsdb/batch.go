package tsdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/tsdb/internal/head"
	"github.com/varvedb/varve/tsdb/internal/record"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

// Series names a registered series of this process; 0 is none. It may be kept
// for ever, as it never comes to name another one, but a series that got no
// samples for long is dropped: whoever keeps one asks Batch.Live before it is
// used, and registers the label set again if it is not.
type Series = head.Ref

// Batch collects the samples of one request, to be logged and made visible
// together. It belongs to one goroutine and ends with Commit or Discard; until
// then no series is dropped that it saw alive. After that Discard does nothing
// and all else panics.
type Batch struct {
	*batchMemory // nil when the batch ended
	db           *DB
	began        *head.Generation // the active one then
	segment      uint64           // of the log then
	last         Series           // that was used and is alive
	count        int              // samples without exemplars
	mint         int64            // samples before it are refused
	maxt         int64
}

// batchMemory is what a batch fills, kept from batch to batch.
type batchMemory struct {
	samples head.Samples
	meta    []familyMetadata
	enc     record.ColumnEncoder
	frame   []byte                   // room for the log, then what enc made
	defined map[uint32]struct{}      // slots of the series that the frame defines
	label   func(name, value string) // of enc
	changes changeSet                // what the batch writes to
	builder labels.ScratchBuilder
	// undefined are slots of the series used that lack definitions in the segment
	// of the batch, some of them twice.
	undefined []uint32
}

func newBatchMemory() *batchMemory {
	m := &batchMemory{builder: labels.NewScratchBuilder(16), defined: map[uint32]struct{}{}}
	m.label = m.enc.Label
	return m
}

type familyMetadata struct {
	family string
	meta   metadata.Metadata
}

// Batch returns an empty batch.
func (db *DB) Batch() *Batch {
	m, _ := db.batches.Get().(*batchMemory)
	if m == nil {
		m = newBatchMemory()
	}
	now := time.Now()
	return &Batch{
		batchMemory: m, db: db, began: db.head.Enter(), segment: db.log.Segment(),
		mint: db.oldest(now), maxt: now.Add(db.opts.MaxFuture).UnixMilli(),
	}
}

// Series finds the series with a label set or registers it. The set must be
// sorted; its strings are copied if they are kept.
//
// It returns an *InputError for a set that is not valid and an *OverloadError
// at the limit of series or when no writes are taken for now. Looking up a
// series that is there takes no lock.
func (b *Batch) Series(lset labels.Labels) (Series, error) {
	if s, ok := b.db.head.Find(lset, b.began); ok {
		b.note(s, b.db.head.Mark(s.Slot()))
		return s, nil
	}
	if err := b.db.checkLabels(lset); err != nil {
		return 0, err
	}
	if err := b.db.admitSeries(); err != nil {
		return 0, err
	}
	s, _, err := b.db.head.Register(lset, b.began)
	if err != nil {
		return 0, err
	}
	b.note(s, b.db.head.Mark(s.Slot()))
	return s, nil
}

// note remembers a series that is alive, and that the frame may have to define it.
func (b *Batch) note(s Series, mark uint64) {
	b.last = s
	if defined(mark, b.segment) < definitions {
		b.undefined = append(b.undefined, s.Slot())
	}
}

// Live tells whether the series is registered still. One that is stays so until
// the batch ends. A number that names no series is not live. It takes no lock.
func (b *Batch) Live(s Series) bool {
	if s == b.last && s != 0 {
		return true
	}
	mark, alive := b.db.head.Live(s, b.began)
	if alive {
		b.note(s, mark)
	}
	return alive
}

// Stamp names a stretch of the life of a store, between two flushes and in one
// segment of the log. 0 is none.
type Stamp uint64

// Stamp returns the stretch in which the batch began. Series of which Settled
// told a batch with the same stamp are live for this one too.
func (b *Batch) Stamp() Stamp { return Stamp(b.began.ID())<<32 | Stamp(uint32(b.segment)) }

// Settled tells whether all series, but for those that are 0, are live and need
// nothing more in the log: who has the answer for the Stamp of the batch may do
// without Live, and use Add.
func (b *Batch) Settled(series []Series) bool {
	for _, s := range series {
		if s == 0 {
			continue
		}
		if mark, alive := b.db.head.Live(s, b.began); !alive || defined(mark, b.segment) < definitions {
			return false
		}
	}
	return true
}

// Add is Float without a start timestamp for a series that is known to be live:
// Live said so to this batch, or Settled to one with its Stamp.
func (b *Batch) Add(s Series, t int64, v float64) error {
	if t < b.mint || t > b.maxt {
		return b.timeError(s, t)
	}
	b.samples.AddFloat(s.Slot(), 0, t, v)
	b.count++
	return nil
}

// Labels returns the label set of a live series, made anew; it owns its strings.
func (b *Batch) Labels(s Series) labels.Labels { return b.db.head.Labels(s, &b.builder) }

// admits tells whether a sample of a series at t is taken.
func (b *Batch) admits(s Series, t int64) error {
	if !b.Live(s) {
		return ErrStale
	}
	if t < b.mint || t > b.maxt {
		return b.timeError(s, t)
	}
	return nil
}

// Float adds a sample, t and st in milliseconds, st being 0 if the start is
// unknown. It returns an *InputError if t is outside the accepted range, and
// ErrStale if the series is not live.
func (b *Batch) Float(s Series, st, t int64, v float64) error {
	if s != b.last || t < b.mint || t > b.maxt || s == 0 {
		if err := b.admits(s, t); err != nil {
			return err
		}
	}
	b.samples.AddFloat(s.Slot(), st, t, v)
	b.count++
	return nil
}

// Histogram is Float for an integer histogram, which then belongs to the store.
func (b *Batch) Histogram(s Series, st, t int64, h *histogram.Histogram) error {
	if err := b.admits(s, t); err != nil {
		return err
	}
	if n := len(h.PositiveBuckets) + len(h.NegativeBuckets) + len(h.CustomValues); n > maxBuckets {
		return b.bucketError(s, n)
	}
	b.samples.AddHistogram(s.Slot(), t, head.Histogram{ST: st, Int: h})
	b.count++
	return nil
}

// FloatHistogram is Float for a float histogram, which then belongs to the
// store.
func (b *Batch) FloatHistogram(s Series, st, t int64, h *histogram.FloatHistogram) error {
	if err := b.admits(s, t); err != nil {
		return err
	}
	if n := len(h.PositiveBuckets) + len(h.NegativeBuckets) + len(h.CustomValues); n > maxBuckets {
		return b.bucketError(s, n)
	}
	b.samples.AddHistogram(s.Slot(), t, head.Histogram{ST: st, Float: h})
	b.count++
	return nil
}

// maxBuckets bounds a histogram far below what a block can hold.
const maxBuckets = 1 << 18

func (b *Batch) bucketError(ref Series, n int) error {
	return &InputError{
		Culprit: clip(b.Labels(ref).String()), Reason: fmt.Sprintf("histogram has %d buckets and bounds", n),
		Limit: fmt.Sprintf("%d buckets and bounds a histogram", maxBuckets),
	}
}

// Exemplar adds an exemplar. Its strings are copied. It returns an *InputError as
// Float does, and for labels that are not sorted or not unique.
func (b *Batch) Exemplar(s Series, e exemplar.Exemplar) error {
	if err := b.admits(s, e.Ts); err != nil {
		return err
	}
	if err := checkExemplarLabels(e.Labels); err != nil {
		return err
	}
	e.Labels = e.Labels.Copy()
	b.samples.AddExemplar(s.Slot(), e)
	return nil
}

func checkExemplarLabels(lset labels.Labels) error {
	first, prev := true, ""
	return lset.Validate(func(l labels.Label) error {
		if !first && l.Name <= prev {
			return &InputError{Culprit: "exemplar " + clip(lset.String()), Reason: fmt.Sprintf("label name %q is duplicate or out of order", clip(l.Name))}
		}
		first, prev = false, l.Name
		return nil
	})
}

// Metadata notes type, help and unit of a metric family.
func (b *Batch) Metadata(family string, m metadata.Metadata) error {
	if family == "" || !utf8.ValidString(family) || !utf8.ValidString(m.Help) || !utf8.ValidString(m.Unit) {
		return &InputError{Culprit: fmt.Sprintf("metadata of %q", family), Reason: "a text is empty or not valid UTF-8"}
	}
	if !b.db.metadata.has(family, m) {
		b.meta = append(b.meta, familyMetadata{family: family, meta: m})
	}
	return nil
}

// Len returns the number of samples added so far, exemplars not counted.
func (b *Batch) Len() int { return b.count }

// Discard ends the batch without writing anything. It does nothing after Commit.
func (b *Batch) Discard() {
	m := b.batchMemory
	if m == nil {
		return
	}
	b.began.Leave()
	b.batchMemory = nil
	m.samples.Reset()
	m.changes = changeSet{}
	clear(m.meta)
	m.meta, m.undefined = m.meta[:0], m.undefined[:0]
	if m.samples.Cap() <= maxPooledSamples {
		b.db.batches.Put(m)
	}
}

// maxPooledSamples keeps one huge request from holding its memory for ever.
const maxPooledSamples = 1 << 18

// Commit logs the batch and makes it visible, all of it or nothing. When it
// returns nil the samples survive the death of the process, and with
// SyncAlways that of the machine. The batch ends. A View that is opened while it
// runs shows all of it or nothing; label calls and exemplars may show a part.
//
// It returns an *OverloadError when the store refuses writes for now; any
// other error is the disk's.
func (b *Batch) Commit(ctx context.Context) error {
	defer b.Discard()
	if b.samples.Len() == 0 && len(b.meta) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	db := b.db
	if err := db.admit(); err != nil {
		return err
	}
	seq, err := b.write()
	if err != nil {
		return db.logFailed(err)
	}
	db.afterWrite()
	if db.opts.Sync.mode == syncAlways {
		if err := db.log.SyncTo(seq); err != nil {
			return db.logFailed(err)
		}
	}
	return nil
}

// write brings the batch into the log and the head, in that order. Requests
// enter the head in the order of their sequence numbers.
func (b *Batch) write() (seq uint64, err error) {
	db := b.db
	db.gate.RLock()
	defer db.gate.RUnlock()
	if db.closed {
		return 0, ErrClosed
	}
	segment := db.log.Segment()
	b.encode(segment)
	db.changes.begin(&b.changes)
	defer db.changes.end(&b.changes)
	for {
		db.commit.Lock()
		seq, err = db.log.AppendFrame(segment, record.TypeColumns, 0, b.frame, b.enc.DefinitionBytes())
		if err == nil {
			db.head.Enqueue(seq, &b.samples)
		}
		db.commit.Unlock()
		if !errors.Is(err, wal.ErrSegmentChanged) {
			break
		}
		segment = db.log.Segment()
		b.encode(segment)
	}
	if err != nil {
		return 0, err
	}
	db.head.Drain(&b.samples)
	b.markDefined(segment)
	for _, m := range b.meta {
		db.metadata.add(m.family, m.meta)
	}
	db.stats.samples.Add(uint64(b.count))
	db.stats.requests.Add(1)
	return seq, nil
}

// A series' mark is the segment it was defined in, shifted by two bits, plus
// the number of frames there that define it, up to definitions. A frame defines
// a series until that many written ones did: one damaged frame then costs
// nothing but itself.
const definitions = 2

func defined(mark, segment uint64) (times uint64) {
	if mark>>2 != segment {
		return 0
	}
	return mark & 3
}

// encode makes the payload of the frame. In the log a series has the number of
// its slot, which is no other one's within a segment, see DB.seal.
func (b *Batch) encode(segment uint64) {
	b.enc.Reset()
	clear(b.defined)
	stretch := int64(-changeMs) // the begin of the one that the sample before is in
	if segment == b.segment {
		for _, slot := range b.undefined {
			b.define(slot, segment)
		}
	}
	for i := range head.ShardCount {
		list := b.samples.Shard(i)
		for k := range list {
			x := &list[k]
			if segment != b.segment && (k == 0 || x.Slot != list[k-1].Slot) {
				b.define(x.Slot, segment)
			}
			if uint64(x.T-stretch) >= changeMs {
				stretch = x.T - x.T%changeMs
				b.changes.add(slotOf(x.T))
			}
			b.encodeSample(x)
		}
	}
	for _, m := range b.meta {
		b.enc.Metadata(m.family, m.meta)
	}
	b.frame = b.enc.AppendTo(slices.Grow(b.frame[:0], wal.FrameRoom)[:wal.FrameRoom])
}

func (b *Batch) define(slot uint32, segment uint64) {
	if defined(b.db.head.Mark(slot), segment) >= definitions {
		return
	}
	if _, done := b.defined[slot]; done {
		return
	}
	b.enc.BeginSeries(slot)
	b.db.head.EachLabel(slot, b.label)
	b.enc.EndSeries()
	b.defined[slot] = struct{}{}
}

func (b *Batch) encodeSample(x *head.Sample) {
	ref := x.Slot
	switch x.Kind {
	case head.KindStartedFloat:
		s := b.samples.Started(x)
		b.enc.Float(ref, s.ST, x.T, s.V)
	case head.KindHistogram:
		if h := b.samples.Histogram(x); h.Int != nil {
			b.enc.Histogram(ref, h.ST, x.T, h.Int)
		} else {
			b.enc.FloatHistogram(ref, h.ST, x.T, h.Float)
		}
	case head.KindExemplar:
		b.enc.Exemplar(ref, *b.samples.Exemplar(x))
	default:
		b.enc.Float(ref, 0, x.T, x.Float())
	}
}

// markDefined notes that the frame, which was written, defines series.
func (b *Batch) markDefined(segment uint64) {
	for slot := range b.defined {
		old := b.db.head.Mark(slot)
		if n := defined(old, segment); n < definitions {
			b.db.head.SwapMark(slot, old, segment<<2|(n+1))
		}
	}
}

func (b *Batch) timeError(ref Series, t int64) error {
	culprit := fmt.Sprintf("%s at %d", clip(b.Labels(ref).String()), t)
	switch {
	case t > b.maxt:
		return &InputError{Culprit: culprit, Reason: "time is too far in the future", Limit: "now + " + b.db.opts.MaxFuture.String()}
	case t < 0:
		return &InputError{Culprit: culprit, Reason: "time is before 1970"}
	}
	return &InputError{Culprit: culprit, Reason: "time is older than the retention", Limit: b.db.opts.Retention.String()}
}

// oldest returns the earliest accepted and readable time.
func (db *DB) oldest(now time.Time) int64 {
	if db.opts.Retention == 0 {
		return 0
	}
	return max(0, now.Add(-db.opts.Retention).UnixMilli())
}

// checkLabels holds a new label set to the rules.
func (db *DB) checkLabels(lset labels.Labels) error {
	if lset.IsEmpty() {
		return &InputError{Reason: "a series needs at least one label"}
	}
	bytes, count, prev := 0, 0, ""
	err := lset.Validate(func(l labels.Label) error {
		if count > 0 && l.Name <= prev {
			return &InputError{Culprit: clip(lset.String()), Reason: fmt.Sprintf("label name %q is duplicate or out of order", clip(l.Name))}
		}
		if l.Name == "" || l.Value == "" {
			return &InputError{Culprit: clip(lset.String()), Reason: "label name or value is empty"}
		}
		if !utf8.ValidString(l.Name) || !utf8.ValidString(l.Value) {
			return &InputError{Culprit: clip(lset.String()), Reason: fmt.Sprintf("label %q is not valid UTF-8", clip(l.Name))}
		}
		bytes += len(l.Name) + len(l.Value)
		count++
		prev = l.Name
		return nil
	})
	switch {
	case err != nil:
		return err
	case bytes > db.opts.MaxLabelBytes:
		return &InputError{Culprit: clip(lset.String()), Reason: fmt.Sprintf("labels take %d bytes", bytes), Limit: fmt.Sprintf("%d bytes of labels a series", db.opts.MaxLabelBytes)}
	case count > db.opts.MaxLabels:
		return &InputError{Culprit: clip(lset.String()), Reason: fmt.Sprintf("it has %d labels", count), Limit: fmt.Sprintf("%d labels a series", db.opts.MaxLabels)}
	}
	return nil
}

// clip keeps a culprit short enough for an error text.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
