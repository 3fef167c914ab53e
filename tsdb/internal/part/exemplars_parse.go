package part

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// parseExemplars returns what a chunk holds of one series.
func parseExemplars(chunk []byte, series uint32) ([]exemplar.Exemplar, error) {
	var found []exemplar.Exemplar
	err := walkExemplars(chunk, func(s uint64, list []exemplar.Exemplar) {
		if s == uint64(series) {
			found = list
		}
	})
	return found, err
}

var errExemplars = fmt.Errorf("%w: exemplars do not parse", block.ErrCorrupt)

// walkExemplars calls f for every series in a chunk.
func walkExemplars(b []byte, f func(series uint64, list []exemplar.Exemplar)) error {
	r := chunkReader{b: b}
	for len(r.b) > 0 && !r.bad {
		series, count := r.uvarint(), r.uvarint()
		const minExemplar = 1 + 8 + 1 + 1
		if r.bad || count > uint64(len(r.b)/minExemplar) {
			return errExemplars
		}
		list := make([]exemplar.Exemplar, 0, count)
		var t int64
		for range count {
			e, ok := r.exemplar(t)
			if !ok {
				return errExemplars
			}
			t = e.Ts
			list = append(list, e)
		}
		f(series, list)
	}
	if r.bad {
		return errExemplars
	}
	return nil
}

// chunkReader walks a chunk; past the end bad is set and everything is zero.
type chunkReader struct {
	b   []byte
	bad bool
}

func (r *chunkReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *chunkReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *chunkReader) exemplar(previous int64) (exemplar.Exemplar, bool) {
	delta := r.uvarint()
	e := exemplar.Exemplar{Ts: previous + (int64(delta>>1) ^ -int64(delta&1))}
	head := r.take(9)
	if r.bad || head[8] > flagHasTime {
		return e, false
	}
	e.Value = math.Float64frombits(binary.LittleEndian.Uint64(head))
	e.HasTs = head[8] == flagHasTime
	n := r.uvarint()
	if n > uint64(len(r.b)/2) {
		return e, false
	}
	b := labels.NewScratchBuilder(int(n))
	last := ""
	for i := range n {
		name := string(r.take(r.uvarint()))
		value := string(r.take(r.uvarint()))
		if r.bad || i > 0 && name <= last {
			return e, false
		}
		b.Add(name, value)
		last = name
	}
	e.Labels = b.Labels()
	return e, !r.bad
}
