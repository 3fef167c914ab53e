package chunks

import (
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// open is the chunk being filled.
type open struct {
	kind  block.Kind
	st    bool // has room for start timestamps
	gauge bool // holds gauge histograms

	chunk      chunkenc.Chunk
	app        chunkenc.Appender
	prev       chunkenc.Appender // of the chunk before, while this one is empty
	mint, maxt int64
	n          int
}

// fits tells whether samples of a kind may go on in this chunk. A chunk with
// room for start timestamps takes samples without.
func (o *open) fits(kind block.Kind, st bool) bool {
	return o.chunk != nil && o.kind == kind && (o.st || !st)
}

// start replaces the chunk by an empty one. prev is the appender of the chunk
// that holds the sample just before, nil if that sample is of another sort.
func (o *open) start(kind block.Kind, st bool, prev chunkenc.Appender) error {
	chunk, err := valueType(kind).NewChunk(st, st)
	if err != nil {
		return err
	}
	app, err := chunk.Appender()
	if err != nil {
		return err
	}
	*o = open{kind: kind, st: st, chunk: chunk, app: app, prev: prev}
	return nil
}

func (o *open) extend(mint, maxt int64, n int) {
	if o.n == 0 {
		o.mint = mint
	}
	o.maxt = maxt
	o.n += n
}

func valueType(kind block.Kind) chunkenc.ValueType {
	switch kind {
	case block.KindFloat:
		return chunkenc.ValFloat
	case block.KindHistogram:
		return chunkenc.ValHistogram
	case block.KindFloatHistogram:
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValNone
}
