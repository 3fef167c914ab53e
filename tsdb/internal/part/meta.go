package part

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve/tsdb/internal/codec"
	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// Version is the version of parts this package writes, the newest it reads.
//
// History: 1 pages of format 1, tables, one index segment; 2 groups of blocks in
// format B1.
const Version = 2

var (
	dataFormat     = section.Format{Magic: "VPRT", Version: Version}
	exemplarFormat = section.Format{Magic: "VEXM", Version: 1}
)

// Names of the files in a part.
const (
	DataFile     = "data"
	IndexFile    = "index"
	ExemplarFile = "exemplars"
)

// Ids of the sections of the data file and of the columns of the tables of
// format 1.
const (
	secPages  = 1
	secTimes  = 2
	secBlocks = 3
	secSeries = 4
	secMeta   = 5
	secGroups = 6

	columnOffset = 0
	columnLength = 1

	columnPage  = 0
	columnInner = 1
	columnMinT  = 2
	columnSpan  = 3
	columnCount = 4
	columnKind  = 5

	columnBlockEnd = 0
)

// Meta describes a part.
type Meta struct {
	MinT, MaxT     int64  // of all samples and exemplars, milliseconds, inclusive
	SeqMin, SeqMax uint64 // log positions it covers, as given to Commit
	Samples        uint64
	Series         uint64 // label sets; some may have exemplars only
	Exemplars      uint64
	Bytes          uint64 // of all its files; not stored
	Format         uint32 // Version it was written in
}

// meta is what is stored: the Meta and what ties the files together.
type meta struct {
	Meta
	minSample    int64 // the time that block rows count from
	indexSize    uint64
	indexCRC     uint64 // CRC-32C of the whole index file
	exemplarSize uint64 // 0 without exemplars
	exemplarCRC  uint64 // CRC-32C of the footer of the exemplar file
}

func appendMeta(dst []byte, m *meta) []byte {
	dst = binary.AppendVarint(dst, m.MinT)
	dst = binary.AppendVarint(dst, m.MaxT)
	dst = binary.AppendVarint(dst, m.minSample)
	for _, v := range m.unsigned() {
		dst = binary.AppendUvarint(dst, *v)
	}
	return dst
}

// unsigned lists the unsigned fields in the order they are stored.
func (m *meta) unsigned() []*uint64 {
	return []*uint64{&m.SeqMin, &m.SeqMax, &m.Samples, &m.Series, &m.Exemplars, &m.indexSize, &m.indexCRC, &m.exemplarSize, &m.exemplarCRC}
}

var errMeta = errors.New("meta does not parse")

func parseMeta(b []byte, version uint32) (*meta, error) {
	m := &meta{Meta: Meta{Format: version}}
	r := codec.NewReader(b)
	m.MinT, m.MaxT, m.minSample = r.Varint(), r.Varint(), r.Varint()
	for _, v := range m.unsigned() {
		*v = r.Uvarint()
	}
	if r.Bad() || r.Len() > 0 || m.MinT > m.MaxT || m.minSample < m.MinT || m.minSample > m.MaxT {
		return nil, errMeta
	}
	return m, nil
}

// day returns the UTC day that t, in milliseconds, falls into.
func day(t int64) string { return time.UnixMilli(t).UTC().Format("2006-01-02") }

const dayMillis = 24 * 60 * 60 * 1000

// ErrRange is returned for a sample or exemplar outside the day, or month, of
// the part.
var ErrRange = errors.New("outside the period of the part")

// period is the time a part may cover; it is set by the first time seen.
type period struct {
	allowMonth bool
	set        bool
	begin, end int64 // end exclusive
}

func (p *period) check(t int64) error {
	if p.set && t >= p.begin && t < p.end {
		return nil
	}
	if p.set {
		return fmt.Errorf("time %d is in %s, the part in %s: %w", t, day(t), day(p.begin), ErrRange)
	}
	p.set = true
	if p.allowMonth {
		at := time.UnixMilli(t).UTC()
		first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
		p.begin, p.end = first.UnixMilli(), first.AddDate(0, 1, 0).UnixMilli()
		return nil
	}
	p.begin = t - ((t%dayMillis)+dayMillis)%dayMillis
	p.end = p.begin + dayMillis
	return nil
}
