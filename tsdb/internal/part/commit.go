package part

import (
	"errors"
	"fmt"

	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// Commit writes what is left, makes all files and their directory durable and
// returns the Meta. seqMin and seqMax are stored as given. The caller then
// renames the directory and syncs its parent.
//
// A part without samples and exemplars is no part: its directory is removed and
// the zero Meta returned. After an error the part has been given up as by Abort.
func (w *Writer) Commit(seqMin, seqMax uint64) (Meta, error) {
	switch {
	case w.err != nil:
		return Meta{}, errors.Join(w.err, w.Abort())
	case w.series.Len() == 0:
		return Meta{}, w.Abort()
	}
	if w.err = w.commit(seqMin, seqMax); w.err != nil {
		return Meta{}, errors.Join(w.err, w.Abort())
	}
	return w.meta.Meta, nil
}

func (w *Writer) commit(seqMin, seqMax uint64) error {
	w.meta.SeqMin, w.meta.SeqMax, w.meta.Format = seqMin, seqMax, Version
	w.meta.Series = uint64(w.series.Len())
	if w.meta.Samples == 0 {
		w.meta.minSample = w.meta.MinT
	}
	for _, step := range []func() error{w.commitIndex, w.commitExemplars, w.commitData} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := w.fs.SyncDir(w.dir); err != nil {
		return fmt.Errorf("sync part directory: %w", err)
	}
	return nil
}

func (w *Writer) commitExemplars() error {
	if w.exemplars == nil {
		return nil
	}
	size, crc, err := w.exemplars.finish()
	w.meta.exemplarSize, w.meta.exemplarCRC = size, uint64(crc)
	w.meta.Bytes += size
	return err
}

func (w *Writer) commitData() error {
	w.groups.flush()
	var s section.Writer
	out, err := s.Append(nil, w.data.offset, secGroups, w.groups.table(w.meta.minSample))
	if err == nil {
		out, err = s.Append(out, w.data.offset, secMeta, appendMeta(nil, &w.meta))
	}
	if err != nil {
		return err
	}
	w.data.write(s.AppendFooter(out, dataFormat))
	w.meta.Bytes += uint64(w.data.offset)
	return w.data.finish()
}

// errAborted is what a Writer says that was given up.
var errAborted = errors.New("part was aborted")

// Abort gives the part up: it closes the files and removes the directory with
// all that is in it. It may be called again, but not after Commit succeeded.
func (w *Writer) Abort() error {
	if w.err == nil {
		w.err = errAborted
	}
	err := w.data.close()
	if w.scratch != nil {
		err = errors.Join(err, w.scratch.remove())
	}
	if w.exemplars != nil {
		err = errors.Join(err, w.exemplars.file.close())
	}
	if removeErr := w.fs.RemoveAll(w.dir); removeErr != nil {
		err = errors.Join(err, fmt.Errorf("remove aborted part: %w", removeErr))
	}
	return err
}
