package tsdb

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// Snapshot flushes and makes a folder under snapshots that can be opened as a
// store of its own. Its files are hard links: it takes no space until the
// originals go. It returns the folder's name.
func (db *DB) Snapshot(ctx context.Context) (name string, err error) {
	defer db.hurried()()
	if err := db.beginJob(); err != nil {
		return "", err
	}
	defer db.jobs.Unlock()
	if err := db.flushLocked(ctx, true); err != nil {
		return "", fmt.Errorf("flush before snapshot: %w", err)
	}
	s := db.acquire()
	defer s.refs.release()
	root := path.Join(db.dir, snapshotsDir)
	name = fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405Z0700"), db.nextPartID())
	for i := 0; ; i++ {
		if _, err := db.fs.Stat(path.Join(root, name)); err != nil {
			break
		}
		name = fmt.Sprintf("%s.%d", name, i)
	}
	tmp := path.Join(root, tmpPrefix+name)
	if err := db.link(tmp, s); err != nil {
		return "", errors.Join(fmt.Errorf("snapshot: %w", err), db.fs.RemoveAll(tmp))
	}
	if err := db.fs.Rename(tmp, path.Join(root, name)); err != nil {
		return "", errors.Join(fmt.Errorf("snapshot: %w", err), db.fs.RemoveAll(tmp))
	}
	return name, db.fs.SyncDir(root)
}

// link makes a store of links to the parts of s in dir.
func (db *DB) link(dir string, s *state) error {
	durable := db.manifest.State()
	edit := manifest.Edit{FlushedSeq: durable.FlushedSeq, NextPartID: durable.NextPartID}
	for _, p := range s.parts {
		if err := db.linkPart(dir, p.info); err != nil {
			return err
		}
		edit.AddParts = append(edit.AddParts, p.info)
	}
	edit.AddTombstones = durable.Tombstones
	for _, sets := range durable.Metadata {
		edit.SetMetadata = append(edit.SetMetadata, sets...)
	}
	if err := vfs.MkdirDurable(db.fs, dir); err != nil {
		return err
	}
	m, err := manifest.Open(db.fs, dir)
	if err != nil {
		return err
	}
	return errors.Join(m.Apply(edit), m.Close())
}

func (db *DB) linkPart(dir string, info manifest.Part) error {
	from := db.partDir(info)
	into := path.Join(dir, partsDir, info.Month, path.Base(from))
	if err := vfs.MkdirDurable(db.fs, into); err != nil {
		return err
	}
	names, err := db.fs.List(from)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := db.fs.Link(path.Join(from, n), path.Join(into, n)); err != nil {
			return err
		}
	}
	return db.fs.SyncDir(into)
}
