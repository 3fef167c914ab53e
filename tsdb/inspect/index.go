package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/index"
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
		printIndex(r, ref, segment, version, space)
		return printLabels(r, segment, space.Labels, top)
	})
}

func printIndex(r *report, ref partRef, segment *index.Segment, version uint32, space index.Space) {
	values := 0
	for _, l := range space.Labels {
		values += l.Values
	}
	r.printf("part %s: %d series, %d label names, %d values, %d days\n", ref.name(), segment.Len(), len(space.Labels), values, max(1, len(segment.Days())))
	if version == 1 {
		r.printf("index of version 1, converted when it is opened, to %d bytes in memory\n", segment.Size())
		return
	}
	how := ""
	if space.Compressed {
		how = fmt.Sprintf("; compressed from %d, and labels are counted before that", segment.Size())
	}
	total := space.Dictionaries + space.Postings + space.Columns + space.Frame
	r.printf("index of version %d, %d bytes, %.1f a series: dictionaries %d, postings %d, columns %d, frame %d%s\n",
		version, total, float64(total)/float64(max(segment.Len(), 1)), space.Dictionaries, space.Postings, space.Columns, space.Frame, how)
}

// printLabels prints what the tables say of each label, and what its values do as
// far as these can be read. The error tells the first damage.
func printLabels(r *report, segment *index.Segment, list []index.LabelSpace, top int) error {
	slices.SortStableFunc(list, func(a, b index.LabelSpace) int {
		return cmp.Or(cmp.Compare(b.Values, a.Values), cmp.Compare(b.Dictionary+b.Columns, a.Dictionary+a.Columns))
	})
	var damage error
	rows := [][]any{{"LABEL", "VALUES", "SERIES", "TEXT", "DICTIONARY", "COLUMNS", "COMMONEST"}}
	for i, l := range list {
		if i == top {
			rows = append(rows, []any{fmt.Sprintf("and %d more", len(list)-top), "", "", "", "", "", ""})
			break
		}
		text, common := 0, ""
		if err := segment.Guard(func() error {
			segment.EachValue(l.Name, func(value string, _ int) { text += len(value) })
			common = commonest(segment, l.Name)
			return nil
		}); err != nil {
			common = "damaged"
			damage = cmp.Or(damage, err)
		}
		rows = append(rows, []any{l.Name, l.Values, l.Series, text, l.Dictionary, l.Columns, common})
	}
	r.table(rows)
	return damage
}

// commonest returns the values of a label that most series have.
func commonest(segment *index.Segment, name string) string {
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
		space, err := segment.Space()
		if err != nil {
			return err
		}
		r.printf("part %s: %d series\n", ref.name(), segment.Len())
		var damage error
		for _, l := range space.Labels {
			if name != "" && l.Name != name {
				continue
			}
			r.printf("  %s: %d values, %d series\n", l.Name, l.Values, l.Series)
			err := segment.Guard(func() error {
				segment.EachValue(l.Name, func(value string, series int) { r.printf("    %q %d\n", value, series) })
				return nil
			})
			damage = cmp.Or(damage, err)
		}
		return damage
	})
}
