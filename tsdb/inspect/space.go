package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// snapshotsDir is the folder of snapshots.
const snapshotsDir = "snapshots"

// spaceKind is what bytes are used for.
type spaceKind int

const (
	spacePayloads spaceKind = iota
	spaceTimes
	spaceHeaders
	spaceTables
	spaceDictionaries
	spacePostings
	spaceColumns
	spaceFrame
	spaceIndex1
	spaceExemplars
	spaceUnreadable
	spaceLog
	spaceManifest
	spaceQuarantine
	spaceSnapshots
	spaceStrangers
	spaceOther
	spaceKinds
)

func (k spaceKind) String() string {
	return [spaceKinds]string{
		"values", "times that are no grid", "headers of blocks", "tables of parts",
		"index: dictionaries", "index: postings", "index: columns", "index: frame and checksums", "index of version 1",
		"exemplars", "parts that cannot be read", "log", "manifest", "quarantine", "snapshots", "not in the manifest", "other files",
	}[k]
}

// bytesOf is bytes by what they are used for.
type bytesOf [spaceKinds]uint64

func (b *bytesOf) add(other *bytesOf) {
	for i, n := range other {
		b[i] += n
	}
}

func (b *bytesOf) total() (sum uint64) {
	for _, n := range b {
		sum += n
	}
	return sum
}

// index returns the bytes of an index.
func (b *bytesOf) index() uint64 {
	return b[spaceDictionaries] + b[spacePostings] + b[spaceColumns] + b[spaceFrame] + b[spaceIndex1]
}

// Space prints what the bytes in the folder are used for: part by part, month by
// month, and all of them. The sum is that of the lengths of all files.
func (s *Store) Space(out io.Writer) error {
	r := &report{out: out}
	files := map[string]uint64{}
	if err := s.files(s.dir, files); err != nil {
		return err
	}
	refs, err := s.parts(r, nil)
	if err != nil {
		return err
	}
	t := spaceTable{report: r}
	for _, ref := range refs {
		space, info, err := s.partSpace(r, ref, files)
		if err != nil {
			return err
		}
		t.part(ref, info, space)
	}
	t.endMonth()
	for name, size := range files {
		t.all[s.kindOf(name)] += size
	}
	t.finish()
	return r.result()
}

// files adds the lengths of all files below a folder. What goes away meanwhile is
// left out.
func (s *Store) files(dir string, into map[string]uint64) error {
	names, err := s.fs.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list files: %w", err)
	}
	for _, name := range names {
		name = path.Join(dir, name)
		info, err := s.fs.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("list files: %w", err)
		case info.IsDir():
			if err := s.files(name, into); err != nil {
				return err
			}
		default:
			into[name] = uint64(info.Size())
		}
	}
	return nil
}

// kindOf tells what a file is for that is in no live part.
func (s *Store) kindOf(name string) spaceKind {
	name = strings.TrimPrefix(name, s.dir+"/")
	first, _, below := strings.Cut(name, "/")
	switch {
	case first == manifest.FileName:
		return spaceManifest
	case !below:
		return spaceOther
	case first == walDir:
		return spaceLog
	case first == quarantineDir:
		return spaceQuarantine
	case first == snapshotsDir:
		return spaceSnapshots
	case first == partsDir:
		return spaceStrangers
	}
	return spaceOther
}

// partSpace tells what the files of a part are used for, and takes them out of
// files.
func (s *Store) partSpace(r *report, ref partRef, files map[string]uint64) (b bytesOf, info manifest.Part, err error) {
	dir := s.partDir(ref)
	sizes := map[string]uint64{}
	for name, size := range files {
		if path.Dir(name) == dir {
			sizes[path.Base(name)] = size
			delete(files, name)
		}
	}
	info = ref.info
	b[spaceUnreadable] = sizes[part.DataFile] + sizes[part.IndexFile]
	b[spaceExemplars] = sizes[part.ExemplarFile]
	delete(sizes, part.ExemplarFile)
	err = s.withPart(r, ref, func(p *part.Part) error {
		info = fromMeta(info, p.Meta())
		data, err := p.DataSpace()
		if err == nil {
			b[spacePayloads], b[spaceTimes], b[spaceHeaders], b[spaceTables] = data.Payloads, data.Times, data.Headers, data.Tables
			b[spaceUnreadable] -= sizes[part.DataFile]
		}
		return errors.Join(err, b.takeIndex(p, sizes[part.IndexFile]))
	})
	delete(sizes, part.DataFile)
	delete(sizes, part.IndexFile)
	for _, size := range sizes {
		b[spaceOther] += size
	}
	return b, info, err
}

// takeIndex tells what the index of a part takes its size for.
func (b *bytesOf) takeIndex(p *part.Part, size uint64) error {
	version, err := p.IndexVersion()
	if err != nil {
		return err
	}
	if version == 1 {
		b[spaceIndex1] = size
		b[spaceUnreadable] -= size
		return nil
	}
	segment, err := p.Index()
	if err != nil {
		return err
	}
	space, err := segment.Space()
	if err != nil {
		return err
	}
	b[spaceDictionaries], b[spacePostings], b[spaceColumns], b[spaceFrame] = space.Dictionaries, space.Postings, space.Columns, space.Frame
	b[spaceUnreadable] -= size
	return nil
}

// spaceTable gathers a row for each part and month.
type spaceTable struct {
	*report
	rows  [][]any
	month string
	parts int // of the month
	sum   bytesOf
	count manifest.Part // samples and series of the month
	all   bytesOf
	total manifest.Part
}

func (t *spaceTable) part(ref partRef, info manifest.Part, space bytesOf) {
	if ref.info.Month != t.month {
		t.endMonth()
		t.month = ref.info.Month
	}
	t.parts++
	t.sum.add(&space)
	t.count.Samples += info.Samples
	t.count.Series += info.Series
	t.row(ref.info.Month+"/"+ref.name(), info, &space)
}

func (t *spaceTable) row(name string, info manifest.Part, b *bytesOf) {
	if len(t.rows) == 0 {
		t.rows = append(t.rows, []any{"PART", "SERIES", "SAMPLES", "BYTES", "B/SAMPLE", "B/SERIES", "VALUES", "TIMES", "HEADERS", "TABLES", "INDEX", "EXEMPLARS"})
	}
	t.rows = append(t.rows, []any{name, info.Series, info.Samples, b.total(), perSample(b.total(), info.Samples), fmt.Sprintf("%.1f", float64(b.total())/float64(max(info.Series, 1))),
		b[spacePayloads], b[spaceTimes], b[spaceHeaders], b[spaceTables], b.index(), b[spaceExemplars]})
}

// endMonth prints the sums of a month of several parts.
func (t *spaceTable) endMonth() {
	if t.parts > 1 {
		t.row(fmt.Sprintf("%s: %d parts", t.month, t.parts), t.count, &t.sum)
	}
	t.all.add(&t.sum)
	t.total.Samples += t.count.Samples
	t.total.Series += t.count.Series
	t.parts, t.sum, t.count = 0, bytesOf{}, manifest.Part{}
}

func (t *spaceTable) finish() {
	if len(t.rows) > 0 {
		t.table(t.rows)
		t.printf("\n")
	}
	total := t.all.total()
	rows := [][]any{{"USE", "BYTES", "SHARE", "B/SAMPLE"}}
	for kind, bytes := range t.all {
		if bytes > 0 {
			rows = append(rows, []any{spaceKind(kind), bytes, percent(bytes, total), perSample(bytes, t.total.Samples)})
		}
	}
	t.table(append(rows, []any{"all", total, "100.0%", perSample(total, t.total.Samples)}))
	if t.all[spaceSnapshots] > 0 {
		t.printf("snapshots are links: they take up room only for what is not in a part any more\n")
	}
}
