package influx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/varvedb/varve/tsdb"
)

// session turns one body into samples. It is pooled between requests; what it
// keeps is only room.
type session struct {
	scanner scanner
	labeler labeler
	decoders
	buf     []byte        // what was read and not taken yet, and room
	samples []sample      // of the current line
	set     *fieldSet     // where the series of samples are from; nil if not all are
	series  []tsdb.Series // of the current line's fields

	request // zeroed between requests
}

// request is what a session holds of the request it serves.
type request struct {
	store   *tsdb.DB
	cache   *cache
	opts    *Options
	batch   *tsdb.Batch
	added   addedLabels
	ctx     string // added as the cache's context
	ctxHash uint64
	unit    precision
	now     int64 // ms

	millis   int64  // the time of the line at hand
	lastTime []byte // text of the last time and
	lastMs   int64  // what it means; lastTime aliases buf and is dropped when buf moves

	lineNumber int  // of the line at hand, from 1
	skipping   bool // the rest of a line that is too long
	bad        badLines
	lines      int // lines taken so far
	sampled    int // and their samples
}

type sample struct {
	series tsdb.Series
	value  float64
}

// maxPooledBuffer keeps long lines from holding their memory for ever.
const maxPooledBuffer = 1 << 20

// ingest reads content to its end and commits its samples. Lines that are not
// stored are in s.bad. After an error the batch at hand is given up.
func (s *session) ingest(ctx context.Context, content io.Reader) error {
	s.batch = s.store.Batch()
	err := s.readAll(ctx, content)
	if err != nil {
		s.batch.Discard()
		return err
	}
	return fromStore(s.batch.Commit(ctx))
}

// storeError is an error of the store, which is not the body's fault.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

func fromStore(err error) error {
	if err == nil {
		return nil
	}
	return &storeError{err}
}

// readAll fills the buffer, takes the lines in it, and so on.
func (s *session) readAll(ctx context.Context, content io.Reader) error {
	if cap(s.buf) < s.opts.firstBuffer {
		s.buf = make([]byte, 0, s.opts.firstBuffer)
	}
	s.buf = s.buf[:0]
	s.lineNumber = 1
	for {
		eof, err := s.fill(content)
		if err != nil {
			return err
		}
		taken, err := s.takeLines(ctx, eof)
		if err != nil {
			return err
		}
		if eof {
			return nil
		}
		s.keepTail(taken)
	}
}

// fill reads until the buffer is full, but for one byte, or the content is over.
func (s *session) fill(content io.Reader) (eof bool, err error) {
	for len(s.buf) < cap(s.buf)-1 {
		n, err := content.Read(s.buf[len(s.buf) : cap(s.buf)-1])
		s.buf = s.buf[:len(s.buf)+n]
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// keepTail moves what was not taken to the start of the buffer. It doubles the
// buffer when that is more than half of it, so that scanning an unfinished line
// again costs no more than reading it did.
func (s *session) keepTail(taken int) {
	s.lastTime = nil
	tail := s.buf[taken:]
	if len(tail) > cap(s.buf)/2 {
		s.buf = append(make([]byte, 0, 2*cap(s.buf)), tail...)
		return
	}
	s.buf = s.buf[:copy(s.buf, tail)]
}

// takeLines takes the lines in the buffer and returns how many bytes that were.
// Unless the content is over, a line that may go on is left.
func (s *session) takeLines(ctx context.Context, eof bool) (taken int, err error) {
	if eof && len(s.buf) > 0 && s.buf[len(s.buf)-1] != '\n' {
		s.buf = append(s.buf, '\n') // fill left room for it
	}
	pos := 0
	if s.skipping {
		pos = s.skipLine()
	}
	whole := s.buf[:bytes.LastIndexByte(s.buf, '\n')+1]
	for pos < len(whole) {
		next, err := s.takeLine(whole, pos, eof)
		if err != nil || next == pos {
			return pos, err
		}
		pos = next
		if s.batch.Len() >= s.opts.BatchSamples {
			if err := s.nextBatch(ctx); err != nil {
				return pos, err
			}
		}
	}
	if len(s.buf)-pos > s.opts.MaxLineBytes {
		s.badLine(s.buf[pos:], s.tooLong(), nil)
		s.skipping = true
		pos = len(s.buf)
	}
	return pos, nil
}

// skipLine returns where the line after one that is too long starts.
func (s *session) skipLine() int {
	i := bytes.IndexByte(s.buf, '\n')
	if i < 0 {
		return len(s.buf)
	}
	s.skipping = false
	s.lineNumber++
	return i + 1
}

// takeLine takes the line at pos and returns where the next one starts, which is
// pos itself when the line has an open string that may be closed by what
// follows. The bytes of whole end with a newline.
func (s *session) takeLine(whole []byte, pos int, eof bool) (next int, err error) {
	next = pos + bytes.IndexByte(whole[pos:], '\n') + 1
	if next-pos > s.opts.MaxLineBytes {
		s.badLine(whole[pos:], s.tooLong(), nil)
		s.lineNumber++
		return next, nil
	}
	if s.fastLine(whole[pos : next-1]) {
		err = s.appendSamples(whole, pos, next)
		s.lineNumber++
		return next, err
	}
	sc := &s.scanner
	sc.b, sc.pos = whole, pos
	switch sc.next() {
	case resultOpen:
		if !eof && len(s.buf)-pos <= s.opts.MaxLineBytes {
			return pos, nil
		}
		s.badLine(whole[pos:], sc.reason, sc.culprit)
	case resultBad:
		next = sc.pos + bytes.IndexByte(whole[sc.pos:], '\n') + 1
		s.badLine(whole[pos:], sc.reason, sc.culprit)
	case resultEmpty:
		next = sc.pos
	case resultPoint:
		next = sc.pos
		err = s.takePoint(whole[pos:next])
	}
	s.lineNumber += bytes.Count(whole[pos:next], newline)
	return next, err
}

// newline is never written.
var newline = []byte("\n")

// takePoint appends the samples of the line that the scanner took apart.
func (s *session) takePoint(text []byte) error {
	if len(text) > s.opts.MaxLineBytes {
		s.badLine(text, s.tooLong(), nil)
		return nil
	}
	pt := &s.scanner.pt
	s.millis = s.now
	if pt.hasTime {
		var ok bool
		if s.millis, ok = s.unit.millis(pt.time, s.now); !ok {
			s.badLine(text, "time is out of range", nil)
			return nil
		}
	}
	if err := s.findSamples(); err != nil {
		return s.refused(text, err)
	}
	return s.appendSamples(text, 0, len(text))
}

// findSamples sets s.samples to those of the line that the scanner took apart.
func (s *session) findSamples() error {
	pt := &s.scanner.pt
	if err := s.findSeries(pt); err != nil {
		return err
	}
	s.samples, s.set = s.samples[:0], nil
	for i, f := range pt.fields {
		if f.kind != kindString {
			s.samples = append(s.samples, sample{s.series[i], f.value})
		}
	}
	return nil
}

// findSeries sets s.series to the series of the fields, 0 for strings, and
// makes the cache know them.
func (s *session) findSeries(pt *point) error {
	s.series = s.series[:0]
	row := s.cache.find(s.ctx, s.ctxHash, pt.key)
	shape, known := noShape, []tsdb.Series(nil)
	if row != nil {
		set := row.set.Load()
		shape, known = set.shape, set.series
	}
	missing, expected := false, 0
	for _, f := range pt.fields {
		var series tsdb.Series
		i := shape.find(f.key, expected)
		if i >= 0 {
			if series = known[i]; series != 0 && !s.batch.Live(series) {
				series = 0
			}
			expected = i + 1
		}
		s.series = append(s.series, series)
		missing = missing || i < 0 || series == 0 && f.kind != kindString
	}
	if !missing {
		return nil
	}
	if err := s.resolve(pt); err != nil {
		return err
	}
	if !shape.full() {
		s.cache.add(s.ctx, s.ctxHash, pt.key, pt.fields, s.series)
	}
	return nil
}

// noShape knows no field. It is never written.
var noShape = &shape{}

// resolve asks the store for the series which the cache did not know.
func (s *session) resolve(pt *point) error {
	s.labeler.setLine(pt, s.added)
	for i, f := range pt.fields {
		if s.series[i] != 0 || f.kind == kindString {
			continue
		}
		var err error
		if s.series[i], err = s.batch.Series(s.labeler.series(f.key)); err != nil {
			return err
		}
	}
	return nil
}

// appendSamples puts the samples of the line whole[pos:next] into the batch.
// Whether a series is live is asked right before it is used, which the batch is
// quick at, unless all of the row are known to be.
func (s *session) appendSamples(whole []byte, pos, next int) error {
	if set := s.set; set != nil {
		settled := uint64(s.batch.Stamp())
		if set.settled.Load() == settled {
			return s.appendSettled(whole[pos:next])
		}
		if s.batch.Settled(set.series) {
			set.settled.Store(settled)
		}
	}
	for i := range s.samples {
		if !s.batch.Live(s.samples[i].series) {
			if err := s.renewSamples(whole, pos); err != nil {
				return s.refused(whole[pos:next], err)
			}
		}
		sm := &s.samples[i]
		if err := s.batch.Float(sm.series, 0, s.millis, sm.value); err != nil {
			return s.refused(whole[pos:next], err)
		}
	}
	s.lines++
	s.sampled += len(s.samples)
	return nil
}

// appendSettled is appendSamples for series that are known to be live.
func (s *session) appendSettled(text []byte) error {
	for i := range s.samples {
		if err := s.batch.Add(s.samples[i].series, s.millis, s.samples[i].value); err != nil {
			return s.refused(text, err)
		}
	}
	s.lines++
	s.sampled += len(s.samples)
	return nil
}

// renewSamples finds the samples of the line at pos anew, in the same order, when
// the cache had a series for it that was dropped.
func (s *session) renewSamples(whole []byte, pos int) error {
	sc := &s.scanner
	sc.b, sc.pos = whole, pos
	if r := sc.next(); r != resultPoint {
		panic(fmt.Sprintf("influx: a line taken by the fast way is no point for the grammar: %s", sc.reason))
	}
	return s.findSamples()
}

// refused notes a bad line when the store finds fault with it; other errors end
// the request.
func (s *session) refused(text []byte, err error) error {
	var input *tsdb.InputError
	if !errors.As(err, &input) {
		return fromStore(err)
	}
	s.badLine(text, input.Error(), nil)
	return nil
}

func (s *session) badLine(text []byte, reason string, culprit []byte) {
	s.bad.add(s.lineNumber, text, reason, culprit)
}

func (s *session) tooLong() string {
	return fmt.Sprintf("line is longer than %d bytes", s.opts.MaxLineBytes)
}

// nextBatch commits the batch at hand and starts another.
func (s *session) nextBatch(ctx context.Context) error {
	batch := s.batch
	s.batch = s.store.Batch()
	return fromStore(batch.Commit(ctx))
}
