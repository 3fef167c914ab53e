package part

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriterOptions are the choices of a Writer; the zero value is the usual one.
type WriterOptions struct {
	AllowMonth   bool // the part may cover a UTC month instead of a UTC day
	BlockSamples int  // most samples in a block; 0 means block.MaxSamples
}

// ErrOrder is returned for samples of a series that do not ascend in time.
var ErrOrder = errors.New("samples of a series out of order")

// Writer writes a part. It keeps in memory the label sets, unless they come as
// rows, some hundred bytes for 128 blocks, the blocks of one series and the headers
// of one group. It is for one goroutine. After an error it is only good for Abort.
type Writer struct {
	fs   vfs.FS
	dir  string
	opts WriterOptions
	err  error

	data      *fileWriter
	exemplars *exemplarWriter
	groups    *groupWriter
	series    index.Writer
	scratch   *scratch // of series, nil without terms

	period    period
	meta      meta
	maxSample int64
	last      seriesKey // of the last series
	lastFull  bool      // the last series has samples
	pending   pending
	original  original // what pending is decoded from
	lastTime  int64    // of the last sample of the series being added
}

// Create makes the directory dir, which should not exist or be empty, and
// begins a part in it.
func Create(fs vfs.FS, dir string, opts WriterOptions) (*Writer, error) {
	if opts.BlockSamples <= 0 || opts.BlockSamples > block.MaxSamples {
		opts.BlockSamples = block.MaxSamples
	}
	if err := fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("create part: %w", err)
	}
	data, err := createFile(fs, dir, DataFile)
	if err != nil {
		return nil, err
	}
	data.write(dataFormat.AppendHeader(nil))
	w := &Writer{fs: fs, dir: dir, opts: opts, data: data, groups: newGroupWriter(data)}
	w.period.allowMonth = opts.AllowMonth
	w.meta.MinT, w.meta.MaxT, w.meta.minSample, w.maxSample = math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64
	return w, nil
}

// UseTerms has series come as rows of terms, through AddRow and AddRowExemplars
// alone. It comes before anything else. The writer then holds no label sets; terms
// must be good until Commit.
func (w *Writer) UseTerms(terms index.Terms) {
	w.scratch = newScratch(w.fs, w.dir)
	w.series.Use(index.Options{Terms: terms, Scratch: w.scratch})
}

// Series returns the number of series so far.
func (w *Writer) Series() int { return w.series.Len() }

// Samples returns the number of samples so far.
func (w *Writer) Samples() uint64 { return w.meta.Samples }

// Add writes the samples of a series, draining c, which it does not keep. Series
// come in label order, each once; one without samples leaves no trace. Spans of
// c ascend and stay inside the period of the part, or the error wraps ErrOrder
// or ErrRange.
//
// Spans that are whole blocks of a part (see Part.Spans) and long, or all that
// there is of their series, are not encoded again but copied as they are stored.
func (w *Writer) Add(lset labels.Labels, c block.Cursor) error {
	if w.err == nil {
		w.err = w.add(seriesKey{lset: lset}, c)
	}
	return w.err
}

// AddRow is Add of the series with a row of the terms, which it does not keep.
func (w *Writer) AddRow(row index.Row, c block.Cursor) error {
	if w.err == nil {
		w.err = w.add(seriesKey{row: row}, c)
	}
	return w.err
}

// seriesKey is what a series is given by.
type seriesKey struct {
	lset labels.Labels
	row  index.Row // with terms
}

func (k seriesKey) String() string {
	if k.row != nil {
		return fmt.Sprintf("row %v", k.row)
	}
	return k.lset.String()
}

func (w *Writer) add(key seriesKey, c block.Cursor) error {
	first := true
	for c.Next() {
		s := c.Span()
		if s.Count == 0 {
			continue
		}
		if first {
			if err := w.register(key, true); err != nil {
				return err
			}
			first = false
		}
		if err := w.span(s); err != nil {
			return fmt.Errorf("add samples of %s: %w", key, err)
		}
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("read samples of %s: %w", key, err)
	}
	if first {
		return w.data.err
	}
	if err := w.cut(); err != nil {
		return fmt.Errorf("add samples of %s: %w", key, err)
	}
	return w.data.err
}

// register makes key the last series, unless it is already.
func (w *Writer) register(key seriesKey, full bool) error {
	if w.isLast(key) {
		if full && w.lastFull {
			return fmt.Errorf("add series %s twice: %w", key, index.ErrOrder)
		}
	} else {
		var err error
		if w.scratch != nil {
			_, err = w.series.AddRow(key.row)
			w.last.row = append(w.last.row[:0], key.row...)
		} else {
			_, err = w.series.Add(key.lset)
			w.last.lset = key.lset.Copy()
		}
		if err != nil {
			return err
		}
		w.lastFull = false
	}
	w.lastFull = w.lastFull || full
	w.lastTime = math.MinInt64
	return nil
}

func (w *Writer) isLast(key seriesKey) bool {
	switch {
	case w.series.Len() == 0:
		return false
	case w.scratch != nil:
		return key.row.Equal(w.last.row)
	}
	return labels.Equal(key.lset, w.last.lset)
}

// span takes up the samples of s, cutting blocks as they fill.
func (w *Writer) span(s *block.Span) error {
	if err := w.checkTimes(s); err != nil {
		return err
	}
	if err := w.activate(s); err != nil {
		return err
	}
	if w.pending.len() > 0 && w.pending.kind != s.Kind {
		if err := w.cut(); err != nil {
			return err
		}
	}
	stored := storedBlock(s)
	if stored != nil && s.Count >= w.copyFrom() && s.Count <= w.opts.BlockSamples {
		if err := w.cut(); err != nil {
			return err
		}
		return w.copyBlock(stored)
	}
	if err := s.Load(); err != nil {
		return err
	}
	if stored != nil && w.pending.len()+s.Count <= w.opts.BlockSamples && w.original.join(stored) {
		w.pending.add(s, 0, s.Count)
		return nil
	}
	if w.pending.len() == 0 && stored != nil && s.Count <= w.opts.BlockSamples {
		if err := w.original.take(stored); err != nil {
			return err
		}
		w.pending.add(s, 0, s.Count)
		return nil
	}
	return w.samples(s)
}

// samples appends those of s to the pending ones.
func (w *Writer) samples(s *block.Span) error {
	for i := 0; i < s.Count; {
		n := min(s.Count-i, 2*w.opts.BlockSamples-w.pending.len())
		if s.Kind != block.KindFloat {
			n = 1
		}
		w.original.set = false
		w.pending.add(s, i, i+n)
		i += n
		var err error
		switch {
		case w.pending.buckets >= maxBuckets:
			err = w.cut()
		case w.pending.len() >= 2*w.opts.BlockSamples:
			err = w.emit(w.opts.BlockSamples)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkTimes holds the times of s to the order and the period.
func (w *Writer) checkTimes(s *block.Span) error {
	last := w.lastTime
	for i := range s.Count {
		t := s.Time(i)
		if t <= last && (i > 0 || last != math.MinInt64) {
			return fmt.Errorf("time %d after %d: %w", t, last, ErrOrder)
		}
		last = t
		if s.Times == nil && s.Step > 0 && i == 0 {
			last = s.MaxT()
			break
		}
	}
	for _, t := range [2]int64{s.MinT(), last} {
		if err := w.period.check(t); err != nil {
			return err
		}
	}
	w.lastTime = last
	return nil
}

// cut writes all pending samples, as few blocks of about equal length.
func (w *Writer) cut() error {
	if w.original.set {
		return w.writeOriginal()
	}
	for w.pending.len() > 0 {
		n := w.pending.len()
		blocks := (n + w.opts.BlockSamples - 1) / w.opts.BlockSamples
		if err := w.emit((n + blocks - 1) / blocks); err != nil {
			return err
		}
	}
	return nil
}

// emit writes the first n pending samples as a block.
func (w *Writer) emit(n int) error {
	s := w.pending.span(n)
	h, err := w.groups.encode(uint32(w.series.Len()-1), &s)
	if err != nil {
		return err
	}
	w.wrote(h)
	w.pending.drop(n)
	return nil
}

// wrote counts a block.
func (w *Writer) wrote(h *b1.Header) {
	w.meta.Samples += uint64(h.Count)
	w.meta.minSample, w.maxSample = min(w.meta.minSample, h.MinT), max(w.maxSample, h.MaxT)
	w.meta.MinT, w.meta.MaxT = min(w.meta.MinT, h.MinT), max(w.meta.MaxT, h.MaxT)
}

// AddExemplars writes exemplars of a series, which need not have samples. It
// comes right before or after Add of the same series, or in its place, once.
// Their times must lie inside the period of the part.
func (w *Writer) AddExemplars(lset labels.Labels, list []exemplar.Exemplar) error {
	if w.err == nil && len(list) > 0 {
		w.err = w.addExemplars(seriesKey{lset: lset}, list)
	}
	return w.err
}

// AddRowExemplars is AddExemplars of the series with a row.
func (w *Writer) AddRowExemplars(row index.Row, list []exemplar.Exemplar) error {
	if w.err == nil && len(list) > 0 {
		w.err = w.addExemplars(seriesKey{row: row}, list)
	}
	return w.err
}

func (w *Writer) addExemplars(key seriesKey, list []exemplar.Exemplar) error {
	for _, e := range list {
		if err := w.period.check(e.Ts); err != nil {
			return fmt.Errorf("add exemplars of %s: %w", key, err)
		}
		w.meta.MinT, w.meta.MaxT = min(w.meta.MinT, e.Ts), max(w.meta.MaxT, e.Ts)
	}
	if w.exemplars == nil {
		file, err := createFile(w.fs, w.dir, ExemplarFile)
		if err != nil {
			return err
		}
		w.exemplars = newExemplarWriter(file)
	}
	if err := w.register(key, false); err != nil {
		return err
	}
	w.meta.Exemplars += uint64(len(list))
	return w.exemplars.add(uint32(w.series.Len()-1), list)
}
