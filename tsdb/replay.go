package tsdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/head"
	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/record"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

// openParts opens what the manifest lists, sets damaged parts aside and removes
// folders that no manifest knows: the log still has what is in them.
func (db *DB) openParts(durable manifest.State) error {
	first := &state{gens: []*liveGen{db.newLiveGen(db.head.Active())}}
	err := db.loadParts(first, durable)
	db.mu.Lock()
	db.installLocked(first)
	db.mu.Unlock()
	releaseAll(first)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, p := range first.parts {
		known[db.partDir(p.info)] = true
	}
	if err := db.removeOrphans(known); err != nil {
		return err
	}
	return db.removeUnfinishedSnapshots()
}

// loadParts fills s with the parts and tombstones of the manifest.
func (db *DB) loadParts(s *state, durable manifest.State) (err error) {
	if s.tombstones, err = readTombstones(durable.Tombstones); err != nil {
		return err
	}
	for _, id := range sortedIDs(durable.Parts) {
		info := durable.Parts[id]
		p, err := db.openPart(info)
		if damaged(err) {
			err = db.quarantine(info, err)
		}
		if err != nil {
			return err
		}
		if p == nil {
			continue
		}
		hidden, err := hide(p, s.tombstones)
		s.parts = append(s.parts, partView{livePart: p, hidden: hidden})
		if err != nil {
			return err
		}
	}
	return nil
}

// openPart opens a part and checks its index.
func (db *DB) openPart(info manifest.Part) (*livePart, error) {
	p, err := part.Open(db.fs, db.partDir(info))
	if err != nil {
		return nil, err
	}
	p.UseCaches(db.caches)
	if _, err := p.Index(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return db.newLivePart(info, p), nil
}

// releaseAll gives up the references that came with the parts and generations
// when they were made; the state holds them if it is installed.
func releaseAll(s *state) {
	for _, p := range s.parts {
		p.refs.release()
	}
	for _, g := range s.gens {
		g.refs.release()
	}
}

// damaged tells bytes that are wrong or missing from a disk that cannot be read
// just now.
func damaged(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, fs.ErrNotExist)
}

func sortedIDs(parts map[uint64]manifest.Part) []uint64 {
	ids := make([]uint64, 0, len(parts))
	for id := range parts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func readTombstones(saved []manifest.Tombstone) ([]tombstone, error) {
	out := make([]tombstone, 0, len(saved))
	for _, t := range saved {
		next := tombstone{seq: t.Seq, mint: t.MinT, maxt: t.MaxT}
		for _, m := range t.Matchers {
			matcher, err := labels.NewMatcher(labels.MatchType(m.Type), m.Name, m.Value)
			if err != nil {
				return nil, fmt.Errorf("read tombstone %d: %w", t.Seq, err)
			}
			next.matchers = append(next.matchers, matcher)
		}
		out = append(out, next)
	}
	return out, nil
}

// quarantine moves a damaged part out of the way and says so in the manifest; in
// that order, since what the manifest does not list is removed.
func (db *DB) quarantine(info manifest.Part, cause error) error {
	err := fmt.Errorf("part %s set aside: %w", db.partDir(info), cause)
	db.opts.Events.corrupted(err)
	if err := db.setAside(info); err != nil {
		return err
	}
	return db.manifest.Apply(manifest.Edit{
		RemoveParts: []uint64{info.ID},
		Quarantine:  map[uint64]string{info.ID: cause.Error()},
	})
}

// setAside moves the folder of a part to the quarantine for good, if there is
// one.
func (db *DB) setAside(info manifest.Part) error {
	from := db.partDir(info)
	if _, err := db.fs.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	into := path.Join(db.dir, quarantineDir)
	if err := vfs.MkdirDurable(db.fs, into); err != nil {
		return err
	}
	to := path.Join(into, fmt.Sprintf("%s-%s", info.Month, path.Base(from)))
	for n := 1; ; n++ {
		if _, err := db.fs.Stat(to); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
		to = path.Join(into, fmt.Sprintf("%s-%s.%d", info.Month, path.Base(from), n))
	}
	if err := db.fs.Rename(from, to); err != nil {
		return err
	}
	if err := db.fs.SyncDir(into); err != nil {
		return err
	}
	return db.fs.SyncDir(path.Dir(from))
}

func (db *DB) removeOrphans(known map[string]bool) error {
	root := path.Join(db.dir, partsDir)
	months, err := db.fs.List(root)
	if err != nil {
		return err
	}
	for _, month := range months {
		names, err := db.fs.List(path.Join(root, month))
		if err != nil {
			return err
		}
		for _, name := range names {
			dir := path.Join(root, month, name)
			if known[dir] && !strings.HasPrefix(name, tmpPrefix) {
				continue
			}
			if err := db.fs.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeUnfinishedSnapshots removes what a crash left of one that was being made:
// its links hold the space of parts that are gone.
func (db *DB) removeUnfinishedSnapshots() error {
	root := path.Join(db.dir, snapshotsDir)
	names, err := db.fs.List(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, tmpPrefix) {
			if err := db.fs.RemoveAll(path.Join(root, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// replay brings what the log has and no part has into the head. The head is
// flushed whenever it is full, so memory stays bounded.
func (db *DB) replay(flushed uint64) error {
	began := time.Now()
	s := db.acquire()
	r := &replayer{db: db, deletes: slices.Clone(s.tombstones), began: db.head.Enter()}
	defer r.began.Leave()
	s.refs.release()
	slices.SortFunc(r.deletes, func(a, b tombstone) int { return cmp.Compare(a.seq, b.seq) })
	report, err := db.log.Replay(flushed, r.frame)
	if err != nil {
		return fmt.Errorf("replay log: %w", err)
	}
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
	series  map[uint64]Series // by ref, of the current segment
	began   *head.Generation  // keeps them registered
	samples uint64
	frames  uint64
	lost    uint64
	deletes []tombstone // of the manifest, that are still to come
	dec     *record.Decoder
	batch   head.Samples
}

func (r *replayer) frame(f wal.Frame) error {
	if f.Segment != r.segment || r.series == nil {
		r.segment, r.series = f.Segment, map[uint64]Series{}
	}
	if f.Old { // its samples are in parts, but newer frames may use its series
		r.defineAll(f)
		return nil
	}
	if err := r.deleteUpTo(f.Seq); err != nil {
		return err
	}
	r.frames++
	switch f.Type {
	case record.TypeBatch:
		r.apply(f)
	case record.TypeTombstone:
		if err := r.tombstone(f); err != nil {
			return err
		}
	default:
		return fmt.Errorf("segment %d at offset %d: unknown frame type %d", f.Segment, f.Offset, f.Type)
	}
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
		t := &r.deletes[0]
		if _, err := r.db.head.Delete(t.mint, t.maxt, t.matchers); err != nil {
			return fmt.Errorf("delete %d: %w", t.seq, err)
		}
		r.deletes = r.deletes[1:]
	}
	return nil
}

// defineAll takes the series of a frame without its samples.
func (r *replayer) defineAll(f wal.Frame) {
	if f.Type != record.TypeBatch {
		return
	}
	r.decode(f)
	for r.dec.Next() {
		if r.dec.Item().Kind == record.KindSeries {
			r.item(r.dec.Item())
		}
	}
	r.noteDamage(f)
}

func (r *replayer) apply(f wal.Frame) {
	r.decode(f)
	r.batch.Reset()
	for r.dec.Next() {
		r.item(r.dec.Item())
	}
	r.noteDamage(f)
	r.db.head.Enqueue(f.Seq, &r.batch)
	r.db.head.Drain(&r.batch)
}

func (r *replayer) decode(f wal.Frame) {
	if r.dec == nil {
		r.dec = record.NewDecoder(nil)
	}
	r.dec.Reset(f.Payload)
}

func (r *replayer) noteDamage(f wal.Frame) {
	if err := r.dec.Err(); err != nil {
		r.db.opts.Events.corrupted(fmt.Errorf("log segment %d at offset %d: %w", f.Segment, f.Offset, err))
	}
}

func (r *replayer) item(it *record.Item) {
	switch it.Kind {
	case record.KindSeries:
		r.define(it)
		return
	case record.KindMetadata:
		if !r.db.metadata.has(it.Family, it.Metadata) {
			r.db.metadata.add(it.Family, it.Metadata)
		}
		return
	}
	s := r.series[it.Ref]
	if s == 0 {
		r.lost++
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

// define registers a series. One that cannot be is as good as undefined.
func (r *replayer) define(it *record.Item) {
	s, _, err := r.db.head.Register(it.Labels, r.began)
	if err != nil {
		r.db.opts.Events.corrupted(fmt.Errorf("log segment %d: %w", r.segment, err))
		return
	}
	r.series[it.Ref] = s
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
