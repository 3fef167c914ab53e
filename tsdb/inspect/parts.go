package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

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
	before, opened := r.damage, false
	err := s.withPart(r, ref, func(p *part.Part) error {
		opened = true
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
	if m := ref.info; !opened && ref.listed && r.damage > before {
		lostAll(r, m.Series, m.Samples, m.MinT, m.MaxT)
	}
	return err
}

// verifyOpened prints what is damaged in a part, and what that costs. It is gone
// when the store removed its files meanwhile.
func (s *Store) verifyOpened(r *report, ref partRef, p *part.Part) (gone bool, err error) {
	var problems []part.Problem
	if err := p.Verify(func(problem part.Problem) { problems = append(problems, problem) }); err != nil {
		return false, err
	}
	for _, problem := range problems {
		if errors.Is(problem.Cause, fs.ErrNotExist) && s.gone(ref) {
			r.wentAway(ref)
			return true, nil
		}
	}
	l := lossPrinter{report: r, part: p, names: newNames(p)}
	for _, problem := range problems {
		if errors.Is(problem.Cause, fs.ErrNotExist) {
			r.damaged("part %s: %v", ref.name(), problem.Cause)
		} else {
			r.damaged("part %s: %v", ref.name(), problem)
		}
		if err := l.print(problem); err != nil {
			return false, err
		}
	}
	return false, nil
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
			if err := p.Dump(r, samples); err != nil {
				return err
			}
			if !samples {
				return p.EachBlock(nil, func(*part.BlockInfo) error { return nil }, func(loss part.Loss) { r.damaged("part %s: %s", ref.name(), lossText(loss)) })
			}
			_, err := s.verifyOpened(r, ref, p)
			return err
		}); err != nil {
			return err
		}
	}
	return r.result()
}
