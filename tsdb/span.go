package tsdb

import (
	"errors"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Span is a run of samples of one series and one kind in ascending time order;
// see its fields for shapes and ownership.
type Span = block.Span

// Kind says what the samples of a span are.
type Kind = block.Kind

// Kinds of samples.
const (
	KindFloat          = block.KindFloat
	KindHistogram      = block.KindHistogram
	KindFloatHistogram = block.KindFloatHistogram
)

// StatOp names a statistic that Span.Stat may answer without decoding.
type StatOp = block.StatOp

// Statistics of a span.
const (
	StatCount    = block.StatCount
	StatSum      = block.StatSum
	StatMin      = block.StatMin
	StatMax      = block.StatMax
	StatFirst    = block.StatFirst
	StatLast     = block.StatLast
	StatIncrease = block.StatIncrease
)

// Cursor walks the spans of one series of a View: ascending, not overlapping,
// with duplicates resolved and deletes applied. It is for one goroutine and must
// not be used after its View was closed.
type Cursor struct {
	c  block.Cursor
	db *DB
}

// Next moves to the next span; after false, Err tells the end from a failure.
func (c *Cursor) Next() bool {
	if c.c.Next() {
		return true
	}
	if err := c.c.Err(); errors.Is(err, ErrCorrupt) {
		c.db.noteDamage(err)
	}
	return false
}

// Span returns the current span, valid until the next call of Next.
func (c *Cursor) Span() *Span { return c.c.Span() }

// Load loads a span of c, the current one or a slice of it, see Span.Load and
// View.Spans. Unlike that it reports damage, so that those who read later leave the
// block out, as after an error of Next.
func (c *Cursor) Load(s *Span) error {
	err := s.Load()
	if err != nil && errors.Is(err, ErrCorrupt) {
		c.db.noteDamage(err)
	}
	return err
}

// Err returns what stopped Next, nil at the end. Damage wraps ErrCorrupt.
func (c *Cursor) Err() error { return c.c.Err() }

// ErrCorrupt is wrapped by errors that tell of damaged bytes; their text names
// file, offset and cause.
var ErrCorrupt = block.ErrCorrupt
