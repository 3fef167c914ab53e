package inspect

import (
	"cmp"
	"fmt"
	"io"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// forParts calls f with each of the parts with these ids, of all parts if there
// are none, and prints what is wrong with one.
func (s *Store) forParts(r *report, ids []uint64, f func(ref partRef, p *part.Part) error) error {
	refs, err := s.parts(r, ids)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := s.withPart(r, ref, func(p *part.Part) error { return f(ref, p) }); err != nil {
			return err
		}
	}
	return nil
}

// eachPart is forParts for calls that print part by part.
func (s *Store) eachPart(out io.Writer, ids []uint64, f func(r *report, ref partRef, p *part.Part) error) error {
	r := &report{out: out}
	if err := s.forParts(r, ids, func(ref partRef, p *part.Part) error { return f(r, ref, p) }); err != nil {
		return err
	}
	return r.result()
}

// choose returns the series of a part that matchers select, nil for all if there
// are no matchers.
func choose(p *part.Part, ms []*labels.Matcher) ([]uint32, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	return ordinals(p, ms)
}

// ordinals returns the series of a part that matchers select, ascending.
func ordinals(p *part.Part, ms []*labels.Matcher) ([]uint32, error) {
	index, err := p.Index()
	if err != nil {
		return nil, err
	}
	set, err := index.Select(ms...)
	if err != nil {
		return nil, err
	}
	return index.Ordinals(set)
}

// seriesNames makes the labels of series; where the index is damaged their
// ordinals stand for them, and err says why.
type seriesNames struct {
	maker *index.Materializer
	err   error
}

func newNames(p *part.Part) *seriesNames {
	index, err := p.Index()
	if err != nil {
		return &seriesNames{err: err}
	}
	return &seriesNames{maker: index.Materializer()}
}

func (n *seriesNames) labels(series uint32) (labels.Labels, bool) {
	if n.maker == nil {
		return labels.Labels{}, false
	}
	lset, err := n.maker.Labels(series)
	if err != nil && n.err == nil {
		n.err = err
	}
	return lset, err == nil
}

// of returns a series as people read it.
func (n *seriesNames) of(series uint32) string {
	if lset, ok := n.labels(series); ok {
		return lset.String()
	}
	return fmt.Sprintf("series %d", series)
}

// seriesValues gives the values of one label by series, out of its column alone.
// Where that is damaged they are "(damaged)", and err says why.
type seriesValues struct {
	segment  *index.Segment
	column   index.Column
	ordinals []uint32 // by series
	texts    map[uint32]string
	err      error
}

func newValues(p *part.Part, name string) *seriesValues {
	v := &seriesValues{texts: map[uint32]string{0: "(none)"}}
	segment, err := p.Index()
	if err != nil {
		v.err = err
		return v
	}
	v.segment = segment
	v.err = segment.Guard(func() error {
		v.column = segment.Column(name)
		series, ordinals := make([]uint32, segment.Len()), make([]uint32, segment.Len())
		for i := range series {
			series[i] = uint32(i)
		}
		v.column.Fill(ordinals, series)
		v.ordinals = ordinals
		return nil
	})
	return v
}

// of returns the value of a series.
func (v *seriesValues) of(series uint32) string {
	if int(series) >= len(v.ordinals) {
		return damagedValue
	}
	o := v.ordinals[series]
	text, ok := v.texts[o]
	if !ok {
		err := v.segment.Guard(func() error {
			text = v.column.Value(o)
			return nil
		})
		if err != nil {
			text = damagedValue
			v.err = cmp.Or(v.err, err)
		}
		v.texts[o] = text
	}
	return text
}

// damagedValue stands for a value that cannot be read.
const damagedValue = "(damaged)"
