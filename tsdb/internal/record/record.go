// Package record gives the frames of the log their meaning: which series a
// frame defines and what it adds to them.
//
// A frame of type Columns or Batch holds one accepted request, as columns or, as
// the first version wrote it, as a list of items; a frame of type Tombstone holds
// one delete. The layout is described in docs/format/record.md.
//
// ColumnEncoder writes columns; DecodeColumns reads them at once, ColumnDecoder
// item by item, to the same effect.
//
// A series is named by a ref, a number that is unique inside one segment of
// the log; an item that defines it stands before its first use there.
package record

import (
	"errors"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// Types of frames. The numbers are on disk.
const (
	TypeBatch     uint8 = 1
	TypeTombstone uint8 = 2
	TypeColumns   uint8 = 3
)

// ErrCorrupt is wrapped by every error of a decoder.
var ErrCorrupt = errors.New("corrupt log record")

// Kind says what an item is. The numbers are on disk.
type Kind uint8

// Kinds of items.
const (
	KindFloat          Kind = 0
	KindHistogram      Kind = 1
	KindFloatHistogram Kind = 2
	KindSeries         Kind = 3
	KindExemplar       Kind = 4
	KindMetadata       Kind = 5
)

// Item is one decoded item of a batch. Only the fields of its Kind are set.
type Item struct {
	Kind Kind
	Ref  uint64 // all kinds but KindMetadata

	T, ST          int64 // samples and exemplars, milliseconds; ST 0 is unknown
	Value          float64
	Histogram      *histogram.Histogram
	FloatHistogram *histogram.FloatHistogram

	Labels   labels.Labels     // KindSeries; owns its strings
	Exemplar exemplar.Exemplar // KindExemplar; owns its strings

	Family   string // KindMetadata
	Metadata metadata.Metadata
}

// The first byte of an item: three bits of kind, then flags.
const (
	kindMask = 0x07

	flagNextRef  = 0x08 // ref is the previous item's plus one; no ref follows
	flagSameTime = 0x10 // t is the previous sample's; no t follows
	flagStart    = 0x20 // a start timestamp follows
	flagRaw      = 0x40 // the value is eight raw bytes, else a zigzag integer
	flagHasTime  = 0x08 // KindExemplar: it has a timestamp
)
