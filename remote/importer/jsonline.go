package importer

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
)

// jsonLine reads lines of JSON. It reads the arrays straight into slices of
// numbers: a tree of values would need a hundred times the memory of the line.
type jsonLine struct {
	labels *labelSet
	values []float64 // NaN: to be skipped
	times  []int64

	js jsonScanner
}

// parse reads one line. ok is false for an empty one. The labels and slices are
// valid until the next call.
func (p *jsonLine) parse(line []byte) (ok bool, err error) {
	p.labels.reset()
	p.values, p.times = p.values[:0], p.times[:0]
	p.js.reset(line)
	if p.js.atEnd() {
		return false, nil
	}
	seen := 0
	p.js.object(func(key string) {
		switch key {
		case "metric":
			seen |= 1
			p.js.object(p.label)
		case "values":
			seen |= 2
			p.js.array(p.value)
		case "timestamps":
			seen |= 4
			p.js.array(p.timestamp)
		default:
			p.js.skip()
		}
	})
	if !p.js.atEnd() {
		p.js.fail("something follows the object")
	}
	if p.js.err != nil {
		return false, p.js.err
	}
	for i, name := range [...]string{"metric", "values", "timestamps"} {
		if seen&(1<<i) == 0 {
			return false, fmt.Errorf("member %q is missing", name)
		}
	}
	return true, p.pair()
}

// pair checks that values and timestamps belong together and drops the pairs to
// skip.
func (p *jsonLine) pair() error {
	if len(p.values) != len(p.times) {
		return fmt.Errorf("%d values but %d timestamps", len(p.values), len(p.times))
	}
	if len(p.values) == 0 {
		return errors.New("there are no values")
	}
	n := 0
	for i, v := range p.values {
		if v == v {
			p.values[n], p.times[n] = v, p.times[i]
			n++
		}
	}
	p.values, p.times = p.values[:n], p.times[:n]
	return nil
}

func (p *jsonLine) label(name string) {
	if p.js.peek() != '"' {
		p.js.skip()
		return
	}
	p.labels.add(name, p.js.text())
}

func (p *jsonLine) value() {
	switch p.js.peek() {
	case '"':
		switch s := p.js.text(); s {
		case "Infinity", "+Infinity", "Inf", "+Inf":
			p.values = append(p.values, math.Inf(1))
		case "-Infinity", "-Inf":
			p.values = append(p.values, math.Inf(-1))
		case "NaN":
			p.values = append(p.values, math.NaN())
		default:
			p.js.fail(fmt.Sprintf("value %q is not a number", s))
		}
	case 'n':
		p.js.literal("null")
		p.values = append(p.values, math.NaN())
	default:
		s := p.js.number()
		if v, err := parseFloat(s); err == nil {
			p.values = append(p.values, v)
		} else {
			p.js.fail(fmt.Sprintf("value %q %s", s, err))
		}
	}
}

func (p *jsonLine) timestamp() {
	s := p.js.number()
	t, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		p.js.fail(fmt.Sprintf("timestamp %q is not a whole number of milliseconds", s))
		return
	}
	p.times = append(p.times, t)
}

// shrink lets go of buffers that one huge line has grown.
func (p *jsonLine) shrink() {
	const keep = 1 << 16
	if cap(p.values) > keep {
		p.values = nil
	}
	if cap(p.times) > keep {
		p.times = nil
	}
	if cap(p.js.buf) > keep {
		p.js.buf = nil
	}
	if cap(p.labels.pairs) > keep {
		p.labels.pairs, p.labels.out = nil, labels.EmptyLabels()
		p.labels.builder = labels.NewScratchBuilder(16)
	}
}
