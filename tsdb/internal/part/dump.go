package part

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Describe writes what the Meta says.
func (p *Part) Describe(w io.Writer) error {
	m := p.Meta()
	perSample := float64(m.Bytes) / float64(max(m.Samples, 1))
	_, err := fmt.Fprintf(w, "format %d\ntime %s to %s (%d to %d)\nsequence %d to %d\nseries %d\nsamples %d\nexemplars %d\nbytes %d (%.3f per sample)\n",
		m.Format, stamp(m.MinT), stamp(m.MaxT), m.MinT, m.MaxT, m.SeqMin, m.SeqMax, m.Series, m.Samples, m.Exemplars, m.Bytes, perSample)
	return err
}

func stamp(t int64) string { return time.UnixMilli(t).UTC().Format("2006-01-02T15:04:05.000Z") }

// Dump writes the Meta, the series with their blocks, and with samples set every
// sample and exemplar.
func (p *Part) Dump(out io.Writer, samples bool) error {
	if err := p.Describe(out); err != nil {
		return err
	}
	l, err := p.load()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	var b labels.ScratchBuilder
	for i := range l.index.Len() {
		lset, err := l.index.Labels(uint32(i), &b)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "series %d %s\n", i, lset)
		p.dumpSeries(w, l, uint32(i), samples)
	}
	return w.Flush()
}

// dumpSeries prints the blocks and exemplars of a series; damage is printed in
// their place.
func (p *Part) dumpSeries(w io.Writer, l *loaded, series uint32, samples bool) {
	l.samples.dump(w, series, samples)
	if !samples {
		return
	}
	list, err := p.Exemplars(series, math.MinInt64, math.MaxInt64)
	if err != nil {
		fmt.Fprintf(w, "    damaged: %v\n", err)
	}
	for _, e := range list {
		fmt.Fprintf(w, "    exemplar %d %v %s\n", e.Ts, e.Value, e.Labels)
	}
}

// DumpSpan writes the samples of a loaded span, one a line.
func DumpSpan(w io.Writer, s *block.Span) {
	for i := range s.Count {
		fmt.Fprintf(w, "    %d", s.Time(i))
		if start := s.StartTime(i); start != 0 {
			fmt.Fprintf(w, " since %d", start)
		}
		switch s.Kind {
		case block.KindHistogram:
			fmt.Fprintf(w, " %s hint %d\n", s.Histograms[i], s.Histograms[i].CounterResetHint)
		case block.KindFloatHistogram:
			fmt.Fprintf(w, " %s hint %d\n", s.FloatHistograms[i], s.FloatHistograms[i].CounterResetHint)
		default:
			v := s.Float(i)
			fmt.Fprintf(w, " %v %016x\n", v, math.Float64bits(v))
		}
	}
}
