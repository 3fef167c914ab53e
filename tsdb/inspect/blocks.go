package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// ListBlocks prints a line for each block of the parts with these ids, of all
// parts if there are none: of the series that matchers select, all without any.
// With most above 0 it is only the blocks of each part with the most bytes.
func (s *Store) ListBlocks(out io.Writer, most int, ms []*labels.Matcher, ids ...uint64) error {
	return s.eachPart(out, ids, func(r *report, ref partRef, p *part.Part) error {
		chosen, err := choose(p, ms)
		if err != nil {
			return err
		}
		r.printf("part %s\n", ref.name())
		l := blockList{report: r, names: newNames(p), most: most}
		if err := p.EachBlock(chosen, func(b *part.BlockInfo) error {
			l.add(b)
			return r.err
		}, func(loss part.Loss) { r.damaged("part %s: %s", ref.name(), lossText(loss)) }); err != nil && r.err == nil {
			return err
		}
		l.finish()
		return l.names.err
	})
}

// blockList prints blocks as they come, or the largest ones at the end.
type blockList struct {
	*report
	names   *seriesNames
	most    int
	largest []blockRow
	printed int
}

// blockRow is a line about a block.
type blockRow struct {
	part.BlockInfo
	how, times string
}

func (l *blockList) add(b *part.BlockInfo) {
	row := blockRow{BlockInfo: *b, how: coding(b), times: timesForm(b)}
	row.Header = nil
	if l.most <= 0 {
		l.print(row)
		return
	}
	at, _ := slices.BinarySearchFunc(l.largest, row, func(x, row blockRow) int {
		return cmp.Or(cmp.Compare(row.Bytes, x.Bytes), cmp.Compare(x.Offset, row.Offset), cmp.Compare(x.Series, row.Series))
	})
	if at < l.most {
		l.largest = slices.Insert(l.largest, at, row)
		l.largest = l.largest[:min(len(l.largest), l.most)]
	}
}

func (l *blockList) print(b blockRow) {
	if l.printed == 0 {
		l.printf("%10s  %-14s  %7s  %-24s  %-24s  %-6s  %-14s  %7s  %8s  %s\n", "AT", "KIND", "SAMPLES", "FROM", "TO", "TIMES", "CODING", "BYTES", "B/SAMPLE", "SERIES")
	}
	l.printed++
	l.printf("%10d  %-14s  %7d  %s  %s  %-6s  %-14s  %7d  %8s  %s\n", b.Offset, b.Kind, b.Samples, stamp(b.MinT), stamp(b.MaxT),
		b.times, b.how, b.Bytes, perSample(uint64(b.Bytes), uint64(b.Samples)), l.names.of(b.Series))
}

func (l *blockList) finish() {
	for _, b := range l.largest {
		l.print(b)
	}
}

// coding says how the values of a block are coded: the domain they are in and
// what codes them there.
func coding(b *part.BlockInfo) string {
	h := b.Header
	switch {
	case h == nil:
		return "format 1"
	case h.Layout == b1.LayoutHistograms:
		return "histograms"
	case h.Layout == b1.LayoutLinear:
		return h.Domain.String() + "/linear"
	case h.Layout == b1.LayoutRuns:
		return h.Domain.String() + "/runs"
	}
	return fmt.Sprintf("%s/%s", h.Domain, h.Params.Codec)
}

func timesForm(b *part.BlockInfo) string {
	if b.Header == nil {
		return "-"
	}
	switch b.Header.Times {
	case codec.TimesGrid:
		return "grid"
	case codec.TimesHoles:
		return "holes"
	case codec.TimesJitter:
		return "jitter"
	}
	return "both"
}

// BlockStats prints how the samples of the parts with these ids, of all parts if
// there are none, are coded: for each coding how many blocks, samples and bytes.
// With a label name, also for each of the top values of it, those with the most
// bytes first.
func (s *Store) BlockStats(out io.Writer, by string, top int, ids ...uint64) error {
	codings, values := blockTally{}, blockTally{}
	r := &report{out: out}
	if err := s.forParts(r, ids, func(ref partRef, p *part.Part) error {
		value := new(seriesValues)
		if by != "" {
			value = newValues(p, by)
		}
		err := p.EachBlock(nil, func(b *part.BlockInfo) error {
			codings.add([3]string{b.Kind.String(), coding(b), timesForm(b)}, b)
			if by != "" {
				values.add([3]string{value.of(b.Series)}, b)
			}
			return nil
		}, func(loss part.Loss) { r.damaged("part %s: %s", ref.name(), lossText(loss)) })
		return cmp.Or(err, value.err)
	}); err != nil {
		return err
	}
	codings.print(r, []any{"KIND", "CODING", "TIMES"}, 0)
	if by != "" {
		r.printf("\n")
		values.print(r, []any{by}, top)
	}
	return r.result()
}

// blockTally counts blocks by what they have in common.
type blockTally map[[3]string]*blockSum

type blockSum struct {
	key                     [3]string
	blocks, samples, bytes  uint64
	exceptions, smallBlocks uint64
}

// smallBlock is from how many samples on a block is worth its header.
const smallBlock = 120

func (t blockTally) add(key [3]string, b *part.BlockInfo) {
	sum := t[key]
	if sum == nil {
		sum = &blockSum{key: key}
		t[key] = sum
	}
	sum.blocks++
	sum.samples += uint64(b.Samples)
	sum.bytes += uint64(b.Bytes)
	if b.Samples < smallBlock {
		sum.smallBlocks++
	}
	if b.Header != nil {
		sum.exceptions += uint64(b.Header.Exceptions)
	}
}

// print prints the sums, those with the most bytes first, top of them if that is
// not 0, and all together.
func (t blockTally) print(r *report, columns []any, top int) {
	var list []*blockSum
	total := blockSum{}
	for _, sum := range t {
		list = append(list, sum)
		total.blocks += sum.blocks
		total.samples += sum.samples
		total.bytes += sum.bytes
		total.exceptions += sum.exceptions
		total.smallBlocks += sum.smallBlocks
	}
	slices.SortFunc(list, func(a, b *blockSum) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(b.samples, a.samples), slices.Compare(a.key[:], b.key[:]))
	})
	rows := [][]any{append(slices.Clone(columns), "BLOCKS", "SHORT", "SAMPLES", "EXCEPTIONS", "BYTES", "SHARE", "B/SAMPLE")}
	row := func(sum *blockSum) {
		var cells []any
		for i := range columns {
			cells = append(cells, sum.key[i])
		}
		rows = append(rows, append(cells, sum.blocks, sum.smallBlocks, sum.samples, sum.exceptions, sum.bytes,
			percent(sum.bytes, total.bytes), perSample(sum.bytes, sum.samples)))
	}
	for i, sum := range list {
		if top > 0 && i == top {
			break
		}
		row(sum)
	}
	total.key[0] = "all"
	row(&total)
	r.table(rows)
	if hidden := len(list) - top; top > 0 && hidden > 0 {
		r.printf("and %d more\n", hidden)
	}
}

func percent(part, all uint64) string {
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(max(all, 1)))
}

// ShowBlocks prints all that the headers of the blocks at an offset of the data
// file of a part say, and with samples set their samples. There may be several:
// of most constant series no bytes are stored, and format 1 has pages of blocks.
func (s *Store) ShowBlocks(out io.Writer, id uint64, offset int64, samples bool) error {
	return s.eachPart(out, []uint64{id}, func(r *report, ref partRef, p *part.Part) error {
		names := newNames(p)
		blocks, err := p.BlocksAt(offset, func(b *part.BlockInfo, c block.Cursor) error {
			r.printf("block at %d of part %s\nseries %d %s\n", b.Offset, ref.name(), b.Series, names.of(b.Series))
			describeBlock(r, b)
			for c.Next() {
				if samples {
					part.DumpSpan(r, c.Span())
				}
			}
			if errors.Is(c.Err(), block.ErrCorrupt) {
				r.damaged("part %s: %v", ref.name(), c.Err())
				return nil
			}
			return c.Err()
		})
		if err == nil && blocks == 0 {
			return fmt.Errorf("no block is at %d", offset)
		}
		return err
	})
}

func describeBlock(r *report, b *part.BlockInfo) {
	r.printf("kind %s, %d samples\ntime %s to %s (%d to %d)\n%d bytes, %s a sample\n", b.Kind, b.Samples, stamp(b.MinT), stamp(b.MaxT), b.MinT, b.MaxT,
		b.Bytes, perSample(uint64(b.Bytes), uint64(b.Samples)))
	h := b.Header
	if h == nil {
		r.printf("in a page of format 1\n")
		return
	}
	r.printf("times: %s, step %d", timesForm(b), h.Step)
	if !h.IsGrid() {
		r.printf(", stored at %d", h.TimesRef)
	}
	r.printf("\ncoding %s, mini-blocks of %d samples\n", coding(b), 1<<h.MiniLog)
	if b.Kind != block.KindFloat {
		return
	}
	r.printf("scale %d, divisor %d, base %d, differences of order %d, table %d, shift %d, centre %d\n",
		h.Scale, h.Divisor, h.Base, h.Params.Order, h.Params.Table, h.Params.Shift, h.Params.Centre)
	r.printf("exceptions %d, resets %d, flags %s\n", h.Exceptions, h.Resets, flagNames(h.Flags))
	for _, st := range []struct {
		name string
		op   block.StatOp
	}{{"first", block.StatFirst}, {"last", block.StatLast}, {"min", block.StatMin}, {"max", block.StatMax}, {"sum", block.StatSum}} {
		if v, exact := h.Stat(st.op); exact {
			r.printf("%s %v\n", st.name, v)
		} else {
			r.printf("%s is not known without decoding\n", st.name)
		}
	}
}

func flagNames(f b1.Flags) string {
	var names []string
	for _, n := range []struct {
		flag b1.Flags
		name string
	}{
		{b1.FlagIntExact, "exact sums"}, {b1.FlagHasStale, "stale markers"}, {b1.FlagHasExc, "exceptions"}, {b1.FlagMonotonic, "monotonic"},
		{b1.FlagNarrow, "32 bits"}, {b1.FlagSpecial, "NaN or -0"}, {b1.FlagStartTimes, "start times"},
	} {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
