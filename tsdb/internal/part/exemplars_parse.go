package part

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
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
	r := codec.NewReader(b)
	for r.Len() > 0 {
		series, count := r.Uvarint(), r.Uvarint()
		const minExemplar = 1 + 8 + 1 + 1
		if r.Bad() || count > uint64(r.Len()/minExemplar) {
			return errExemplars
		}
		list := make([]exemplar.Exemplar, 0, count)
		var t int64
		for range count {
			e, ok := parseExemplar(&r, t)
			if !ok {
				return errExemplars
			}
			t = e.Ts
			list = append(list, e)
		}
		f(series, list)
	}
	if r.Bad() {
		return errExemplars
	}
	return nil
}

// parseExemplar reads an exemplar; the one before it had the time previous.
func parseExemplar(r *codec.Reader, previous int64) (exemplar.Exemplar, bool) {
	e := exemplar.Exemplar{Ts: previous + r.Varint()}
	head := r.Take(9)
	if r.Bad() || head[8] > flagHasTime {
		return e, false
	}
	e.Value = math.Float64frombits(binary.LittleEndian.Uint64(head))
	e.HasTs = head[8] == flagHasTime
	n := r.Uvarint()
	if n > uint64(r.Len()/2) {
		return e, false
	}
	b := labels.NewScratchBuilder(int(n))
	last := ""
	for i := range n {
		name := string(r.Take(r.Uvarint()))
		value := string(r.Take(r.Uvarint()))
		if r.Bad() || i > 0 && name <= last {
			return e, false
		}
		b.Add(name, value)
		last = name
	}
	e.Labels = b.Labels()
	return e, !r.Bad()
}
