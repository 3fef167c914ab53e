package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/index2"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// commonestValues is how many values of a label are shown.
const commonestValues = 3

// IndexStats prints, for the parts with these ids or for all, what takes the
// bytes of the index and how many series and values each label has, the labels
// with the most values first, top of them with their commonest values.
func (s *Store) IndexStats(out io.Writer, top int, ids ...uint64) error {
	return s.eachPart(out, ids, func(r *report, ref partRef, p *part.Part) error {
		segment, err := p.Index()
		if err != nil {
			return err
		}
		version, err := p.IndexVersion()
		if err != nil {
			return err
		}
		space, err := segment.Space()
		if err != nil {
			return err
		}
		return segment.Guard(func() error {
			printIndex(r, ref, segment, version, space, top)
			return nil
		})
	})
}

// labelStats is what is printed of a label.
type labelStats struct {
	index2.NameCount
	index2.LabelSpace
}

func printIndex(r *report, ref partRef, segment *index2.Segment, version uint32, space index2.Space, top int) {
	names := segment.Cardinality()
	var list []labelStats
	values, bytes := 0, 0
	for i, n := range names {
		values += n.Values
		bytes += n.Bytes
		list = append(list, labelStats{n, space.Labels[i]})
	}
	r.printf("part %s: %d series, %d label names, %d values of %d bytes, %d days\n", ref.name(), segment.Len(), len(names), values, bytes, max(1, len(segment.Days())))
	total := space.Dictionaries + space.Postings + space.Columns + space.Frame
	if version == 1 {
		r.printf("index of version 1, converted when it is opened, to %d bytes in memory\n", segment.Size())
	} else {
		how := ""
		if space.Compressed {
			how = fmt.Sprintf("; compressed from %d, and labels are counted before that", segment.Size())
		}
		r.printf("index of version %d, %d bytes, %.1f a series: dictionaries %d, postings %d, columns %d, frame %d%s\n",
			version, total, float64(total)/float64(max(segment.Len(), 1)), space.Dictionaries, space.Postings, space.Columns, space.Frame, how)
	}
	slices.SortStableFunc(list, func(a, b labelStats) int {
		return cmp.Or(cmp.Compare(b.Values, a.Values), cmp.Compare(b.Dictionary+b.Columns, a.Dictionary+a.Columns))
	})
	rows := [][]any{{"LABEL", "VALUES", "SERIES", "TEXT", "DICTIONARY", "COLUMNS", "COMMONEST"}}
	for i, n := range list {
		if i == top {
			rows = append(rows, []any{fmt.Sprintf("and %d more", len(list)-top), "", "", "", "", "", ""})
			break
		}
		rows = append(rows, []any{n.NameCount.Name, n.Values, n.Series, n.Bytes, n.Dictionary, n.Columns, commonest(segment, n.NameCount.Name)})
	}
	r.table(rows)
}

// commonest returns the values of a label that most series have.
func commonest(segment *index2.Segment, name string) string {
	var texts []string
	for _, c := range segment.TopValues(name, commonestValues) {
		texts = append(texts, fmt.Sprintf("%q %d", c.Value, c.Series))
	}
	return strings.Join(texts, ", ")
}

// IndexLookup prints the series that matchers select in the parts with these ids,
// or in all, with their numbers there.
func (s *Store) IndexLookup(out io.Writer, ms []*labels.Matcher, ids ...uint64) error {
	return s.eachPart(out, ids, func(r *report, ref partRef, p *part.Part) error {
		list, err := ordinals(p, ms)
		if err != nil {
			return err
		}
		r.printf("part %s: %d series\n", ref.name(), len(list))
		names := newNames(p)
		for _, o := range list {
			r.printf("  %d %s\n", o, names.of(o))
		}
		return names.err
	})
}

// DumpIndex prints every value of every label, of one label alone if name is not
// empty, and how many series have it.
func (s *Store) DumpIndex(out io.Writer, name string, ids ...uint64) error {
	return s.eachPart(out, ids, func(r *report, ref partRef, p *part.Part) error {
		segment, err := p.Index()
		if err != nil {
			return err
		}
		return segment.Guard(func() error {
			r.printf("part %s: %d series\n", ref.name(), segment.Len())
			for _, n := range segment.Cardinality() {
				if name != "" && n.Name != name {
					continue
				}
				r.printf("  %s: %d values, %d series\n", n.Name, n.Values, n.Series)
				segment.EachValue(n.Name, func(value string, series int) { r.printf("    %q %d\n", value, series) })
			}
			return nil
		})
	})
}
