package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// listQuarantine returns the numbers of the segments in the quarantine.
func (l *Log) listQuarantine() (map[uint64]bool, error) {
	numbers := map[uint64]bool{}
	if l.opts.Quarantine == "" {
		return numbers, nil
	}
	names, err := l.fs.List(l.opts.Quarantine)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list quarantine: %w", err)
	}
	for _, name := range names {
		if number, ok := ParseSegmentName(name); ok {
			numbers[number] = true
		}
	}
	return numbers, nil
}

// saveSegment puts a copy of a segment into the quarantine, unless it is there,
// and returns its name; "" when there is no quarantine. Numbers are not used
// again while they are in the quarantine, so a file there is the same segment.
func (l *Log) saveSegment(number uint64) (name string, err error) {
	if l.opts.Quarantine == "" {
		return "", nil
	}
	name = path.Join(l.opts.Quarantine, SegmentName(number))
	if _, err := l.fs.Stat(name); err == nil {
		return name, nil
	}
	if err := vfs.MkdirDurable(l.fs, l.opts.Quarantine); err != nil {
		return "", err
	}
	if err := l.copySegment(l.segmentPath(number), name); err != nil {
		return "", err
	}
	return name, l.fs.SyncDir(l.opts.Quarantine)
}

// copySegment links a segment under another name, which costs no space; where
// that is not possible it copies it.
func (l *Log) copySegment(from, to string) error {
	if l.fs.Link(from, to) == nil {
		return nil
	}
	tmp := to + ".tmp"
	if err := copyFile(l.fs, from, tmp); err != nil {
		return errors.Join(err, removeIfThere(l.fs, tmp))
	}
	return l.fs.Rename(tmp, to)
}

func copyFile(fsys vfs.FS, from, to string) (err error) {
	src, err := fsys.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := fsys.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if _, err := io.Copy(dst, src); err != nil {
		return err
	}
	return dst.Sync()
}
