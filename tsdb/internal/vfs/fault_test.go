package vfs

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultChoices(t *testing.T) {
	errFull := errors.New("full")
	writesTo := func(suffix string) func(Op) error {
		return func(op Op) error {
			if op.Kind == OpWrite && strings.HasSuffix(op.Name, suffix) {
				return errFull
			}
			return nil
		}
	}
	// steps does four operations on each of two files: create, write, sync, close.
	steps := func(f *Fault) (failed []string) {
		for _, name := range []string{"a.wal", "b.wal"} {
			note := func(deed string, err error) bool {
				if err != nil {
					failed = append(failed, deed+" "+path.Base(name))
				}
				return err == nil
			}
			file, err := f.Create(name)
			if !note("create", err) {
				continue
			}
			_, err = file.Write([]byte("1234"))
			note("write", err)
			note("sync", file.Sync())
			note("close", file.Close())
		}
		return failed
	}
	f := func(choose func(*Fault), want ...string) {
		t.Helper()
		fault := NewFault(NewMem())
		choose(fault)
		require.Equal(t, want, steps(fault))
		require.EqualValues(t, len(want), fault.Fired())
	}
	f(func(*Fault) {})
	f(func(f *Fault) { f.FailOp(1) }, "create a.wal")
	f(func(f *Fault) { f.FailOp(3) }, "sync a.wal")
	f(func(f *Fault) { f.FailOp(99) })
	f(func(f *Fault) { f.FailFrom(4) }, "close a.wal", "create b.wal")
	f(func(f *Fault) { f.FailIf(writesTo(".wal")) }, "write a.wal", "write b.wal")
	f(func(f *Fault) { f.FailIf(writesTo("b.wal")) }, "write b.wal")
	f(func(f *Fault) { f.FailOnceIf(writesTo(".wal")) }, "write a.wal")
	f(func(f *Fault) { f.FailFrom(1); f.Clear() })
	f(func(f *Fault) { f.FailFrom(1); f.SetEnabled(false) })
	f(func(f *Fault) { f.FailFrom(8); f.SetEnabled(false); steps(f); f.SetEnabled(true) }, "close b.wal")
}

func TestFaultShortWrite(t *testing.T) {
	mem := NewMem()
	fault := NewFault(mem)
	f, err := fault.Create("a")
	require.NoError(t, err)
	fault.FailIf(func(op Op) error {
		if op.Kind == OpWrite {
			return ErrNoSpace
		}
		return nil
	})
	n, err := f.Write([]byte("1234"))
	require.ErrorIs(t, err, ErrNoSpace)
	require.Zero(t, n)
	fault.ShortWrites(true)
	n, err = f.Write([]byte("1234"))
	require.ErrorIs(t, err, ErrNoSpace)
	require.Equal(t, 2, n)
	require.EqualValues(t, 2, fault.Ops())
	fault.Clear()
	_, err = f.Write([]byte("56"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, "1256", content(t, mem, "a"))
}

// TestFaultCoversAll fails each kind of operation once, so that none is
// forgotten by the wrapper.
func TestFaultCoversAll(t *testing.T) {
	kinds := []OpKind{
		OpCreate, OpOpen, OpMap, OpOpenWrite, OpRemove, OpRemoveAll, OpRename, OpLink, OpMkdirAll, OpList, OpStat, OpSyncDir,
		OpLock, OpFree, OpRead, OpReadAt, OpWrite, OpSync, OpTruncate, OpSize, OpClose,
	}
	for _, kind := range kinds {
		fault := NewFault(NewMem())
		fault.FailIf(func(op Op) error {
			if op.Kind == kind {
				return ErrInjected
			}
			return nil
		})
		err := useAll(fault)
		require.ErrorIs(t, err, ErrInjected, "%s", kind)
		require.EqualValues(t, 1, fault.Fired(), "%s", kind)
	}
	require.NoError(t, useAll(NewFault(NewMem())))
}

// useAll does each operation of FS and File once, up to the first error.
func useAll(fsys FS) error {
	var f File
	open := func(file File, err error) error { f = file; return err }
	n := func(_ any, err error) error { return err }
	buf := make([]byte, 1)
	for _, do := range []func() error{
		func() error { return fsys.MkdirAll("d") },
		func() error { return open(fsys.Create("d/a")) },
		func() error { return n(f.Write([]byte("123"))) },
		func() error { return f.Sync() },
		func() error { return f.Truncate(2) },
		func() error { return n(f.Size()) },
		func() error { return n(f.Read(buf)) },
		func() error { return n(f.ReadAt(buf, 0)) },
		func() error { return f.Close() },
		func() error { return n(fsys.Open("d/a")) },
		func() error { return n(fsys.Map("d/a")) },
		func() error { return n(fsys.OpenWrite("d/a")) },
		func() error { return fsys.Link("d/a", "d/b") },
		func() error { return fsys.Rename("d/a", "d/c") },
		func() error { return n(fsys.List("d")) },
		func() error { return n(fsys.Stat("d/c")) },
		func() error { return fsys.SyncDir("d") },
		func() error { return fsys.Remove("d/b") },
		func() error { return n(fsys.Lock("lock")) },
		func() error { return n(fsys.Free(".")) },
		func() error { return fsys.RemoveAll("d") },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
