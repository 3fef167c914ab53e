package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/index2"
	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// ListParts prints one line for each live part.
func (s *Store) ListParts(out io.Writer) error {
	r := &report{out: out}
	refs, err := s.parts(r, nil)
	if err != nil {
		return err
	}
	rows := [][]any{{"PART", "FROM", "TO", "SERIES", "SAMPLES", "BYTES", "B/SAMPLE", "SEQUENCE", "DELETED", "FORMAT"}}
	var samples, bytes uint64
	for _, ref := range refs {
		info := ref.info
		if !ref.listed {
			readable := false
			if err := s.withPart(r, ref, func(p *part.Part) error {
				info, readable = fromMeta(info, p.Meta()), true
				return nil
			}); err != nil {
				return err
			}
			if !readable {
				continue
			}
		}
		samples += info.Samples
		bytes += info.Bytes
		rows = append(rows, []any{
			info.Month + "/" + ref.name(), stamp(info.MinT), stamp(info.MaxT), info.Series, info.Samples, info.Bytes,
			perSample(info.Bytes, info.Samples), fmt.Sprintf("%d-%d", info.SeqMin, info.SeqMax), info.DeletedSeq, info.Format,
		})
	}
	if len(rows) > 1 {
		r.table(rows)
	}
	r.printf("%d parts, %d samples, %d bytes, %s bytes per sample\n", len(rows)-1, samples, bytes, perSample(bytes, samples))
	return r.result()
}

func perSample(bytes, samples uint64) string {
	return fmt.Sprintf("%.3f", float64(bytes)/float64(max(samples, 1)))
}

// fromMeta fills in what a part says of itself.
func fromMeta(info manifest.Part, m part.Meta) manifest.Part {
	info.MinT, info.MaxT, info.SeqMin, info.SeqMax = m.MinT, m.MaxT, m.SeqMin, m.SeqMax
	info.Samples, info.Series, info.Bytes, info.Format = m.Samples, m.Series, m.Bytes, m.Format
	return info
}

// VerifyParts reads and decodes everything in the parts with these ids, of all
// parts if there are none, and prints each damaged place.
func (s *Store) VerifyParts(out io.Writer, ids ...uint64) error {
	r := &report{out: out}
	refs, err := s.parts(r, ids)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := s.verifyPart(r, ref); err != nil {
			return err
		}
	}
	return r.result()
}

func (s *Store) verifyPart(r *report, ref partRef) error {
	return s.withPart(r, ref, func(p *part.Part) error {
		before := r.damage
		if gone, err := s.verifyOpened(r, ref, p); gone || err != nil {
			return err
		}
		if ref.listed {
			compare(r, ref, p.Meta())
		}
		if m := p.Meta(); r.damage == before {
			r.printf("part %s is sound: %d series, %d samples, %d exemplars, %d bytes\n", ref.name(), m.Series, m.Samples, m.Exemplars, m.Bytes)
		}
		return nil
	})
}

// verifyOpened prints what is damaged in a part. It is gone when the store
// removed its files meanwhile.
func (s *Store) verifyOpened(r *report, ref partRef, p *part.Part) (gone bool, err error) {
	err = p.Verify(func(problem part.Problem) {
		missing := errors.Is(problem.Cause, fs.ErrNotExist)
		switch {
		case gone:
		case missing && s.gone(ref):
			gone = true
			r.wentAway(ref)
		case missing:
			r.damaged("part %s: %v", ref.name(), problem.Cause)
		default:
			r.damaged("part %s: %v", ref.name(), problem)
		}
	})
	return gone, err
}

// compare holds what the manifest says of a part against the part.
func compare(r *report, ref partRef, m part.Meta) {
	want := ref.info
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"first time", m.MinT, want.MinT},
		{"last time", m.MaxT, want.MaxT},
		{"first sequence number", m.SeqMin, want.SeqMin},
		{"last sequence number", m.SeqMax, want.SeqMax},
		{"samples", m.Samples, want.Samples},
		{"series", m.Series, want.Series},
		{"bytes", m.Bytes, want.Bytes},
		{"format", m.Format, want.Format},
	} {
		if c.got != c.want {
			r.damaged("part %s: %s: got %v, the manifest says %v", ref.name(), c.name, c.got, c.want)
		}
	}
}

// DumpParts prints the series and blocks of the parts with these ids, of all
// parts if there are none, and with samples set every sample. Damage is printed
// where the samples would be, and once more with its offset at the end.
func (s *Store) DumpParts(out io.Writer, samples bool, ids ...uint64) error {
	r := &report{out: out}
	refs, err := s.parts(r, ids)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := s.withPart(r, ref, func(p *part.Part) error {
			r.printf("part %s\n", ref.name())
			if err := p.Dump(r, samples); err != nil || !samples {
				return err
			}
			_, err := s.verifyOpened(r, ref, p)
			return err
		}); err != nil {
			return err
		}
	}
	return r.result()
}

// IndexStats prints, for the parts with these ids or for all, how many series
// and values each label has, the labels with the most values first, and top of
// them with their commonest values.
func (s *Store) IndexStats(out io.Writer, top int, ids ...uint64) error {
	r := &report{out: out}
	refs, err := s.parts(r, ids)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := s.withPart(r, ref, func(p *part.Part) error {
			return s.indexStats(r, ref, p, top)
		}); err != nil {
			return err
		}
	}
	return r.result()
}

func (s *Store) indexStats(r *report, ref partRef, p *part.Part, top int) error {
	segment, err := p.Index()
	if err != nil {
		return err
	}
	return segment.Guard(func() error {
		printIndex(r, ref, segment, top)
		return nil
	})
}

func printIndex(r *report, ref partRef, segment *index2.Segment, top int) {
	names := segment.Cardinality()
	values, bytes := 0, 0
	for _, n := range names {
		values += n.Values
		bytes += n.Bytes
	}
	r.printf("part %s: %d series, %d label names, %d values of %d bytes, %d bytes in memory\n",
		ref.name(), segment.Len(), len(names), values, bytes, segment.Size())
	slices.SortStableFunc(names, func(a, b indexName) int { return b.Values - a.Values })
	rows := [][]any{{"LABEL", "VALUES", "SERIES", "BYTES", "COMMONEST"}}
	for i, n := range names {
		if i == top {
			rows = append(rows, []any{fmt.Sprintf("and %d more", len(names)-top), "", "", "", ""})
			break
		}
		rows = append(rows, []any{n.Name, n.Values, n.Series, n.Bytes, commonest(segment, n.Name)})
	}
	r.table(rows)
}
