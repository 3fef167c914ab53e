package vfs

import (
	"io"
	"io/fs"
	"path"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConformance holds every FS to what the interface promises.
func TestConformance(t *testing.T) {
	systems := map[string]func(t *testing.T) (FS, string){
		"OS":    func(t *testing.T) (FS, string) { return OS{}, t.TempDir() },
		"Mem":   func(*testing.T) (FS, string) { return NewMem(), "/" },
		"Fault": func(*testing.T) (FS, string) { return NewFault(NewMem()), "." },
	}
	cases := map[string]func(t *testing.T, fsys FS, dir string){
		"write and read":    testWriteRead,
		"truncate":          testTruncate,
		"map":               testMap,
		"open write":        testOpenWrite,
		"missing":           testMissing,
		"folders":           testFolders,
		"rename":            testRename,
		"link":              testLink,
		"lock":              testLock,
		"free":              testFree,
		"close":             testClose,
		"write file atomic": testWriteFileAtomic,
		"mkdir durable":     testMkdirDurable,
		"many goroutines":   testGoroutines,
	}
	for system, open := range systems {
		for name, test := range cases {
			t.Run(system+"/"+name, func(t *testing.T) {
				fsys, dir := open(t)
				test(t, fsys, dir)
			})
		}
	}
}

func create(t *testing.T, fsys FS, name, content string) {
	t.Helper()
	f, err := fsys.Create(name)
	require.NoError(t, err)
	n, err := f.Write([]byte(content))
	require.NoError(t, err)
	require.Equal(t, len(content), n)
	require.NoError(t, f.Close())
}

func content(t *testing.T, fsys FS, name string) string {
	t.Helper()
	data, err := ReadFile(fsys, name)
	require.NoError(t, err)
	return string(data)
}

func names(t *testing.T, fsys FS, dir string) []string {
	t.Helper()
	out, err := fsys.List(dir)
	require.NoError(t, err)
	return out
}

func testWriteRead(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "a")
	f, err := fsys.Create(name)
	require.NoError(t, err)
	for _, s := range []string{"hello, ", "", "world"} {
		_, err := f.Write([]byte(s))
		require.NoError(t, err)
	}
	size, err := f.Size()
	require.NoError(t, err)
	require.EqualValues(t, 12, size)

	buf := make([]byte, 5)
	n, err := f.ReadAt(buf, 7)
	require.NoError(t, err)
	require.Equal(t, "world", string(buf[:n]))
	n, err = f.ReadAt(buf, 10)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "ld", string(buf[:n]))
	n, err = f.ReadAt(buf, 100)
	require.ErrorIs(t, err, io.EOF)
	require.Zero(t, n)

	// Reading does not move where the next write goes, nor the reverse.
	n, err = f.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "hello", string(buf[:n]))
	_, err = f.Write([]byte("!"))
	require.NoError(t, err)
	rest, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, ", world!", string(rest))
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())

	require.Equal(t, "hello, world!", content(t, fsys, name))
	info, err := fsys.Stat(name)
	require.NoError(t, err)
	require.EqualValues(t, 13, info.Size())
	require.Equal(t, "a", info.Name())
	require.False(t, info.IsDir())

	create(t, fsys, name, "x")
	require.Equal(t, "x", content(t, fsys, name), "Create cuts an existing file to nothing")
}

func testTruncate(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "a")
	f, err := fsys.Create(name)
	require.NoError(t, err)
	_, err = f.Write([]byte("0123456789"))
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Truncate(4))
	_, err = f.Write([]byte("abc"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(9))
	_, err = f.Write([]byte("z"))
	require.NoError(t, err)
	require.Error(t, f.Truncate(-1))
	require.NoError(t, f.Close())
	require.Equal(t, "0123abc\x00\x00z", content(t, fsys, name))
}

func testOpenWrite(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "a")
	create(t, fsys, name, "one")
	f, err := fsys.OpenWrite(name)
	require.NoError(t, err)
	_, err = f.Write([]byte(" two"))
	require.NoError(t, err)
	buf := make([]byte, 7)
	_, err = f.ReadAt(buf, 0)
	require.NoError(t, err)
	require.Equal(t, "one two", string(buf))
	require.NoError(t, f.Close())

	f, err = fsys.Open(name)
	require.NoError(t, err)
	_, err = f.Write([]byte("three"))
	require.Error(t, err, "a file opened for reading takes no write")
	require.NoError(t, f.Close())
	require.Equal(t, "one two", content(t, fsys, name))
}

func testMissing(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "missing")
	_, err := fsys.Open(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "missing")
	_, err = fsys.OpenWrite(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fsys.Create(path.Join(name, "a"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fsys.Stat(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fsys.List(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, fsys.Remove(name), fs.ErrNotExist)
	require.ErrorIs(t, fsys.Rename(name, path.Join(dir, "b")), fs.ErrNotExist)
	require.ErrorIs(t, fsys.Link(name, path.Join(dir, "b")), fs.ErrNotExist)
	require.ErrorIs(t, fsys.SyncDir(name), fs.ErrNotExist)
	require.NoError(t, fsys.RemoveAll(name))
	require.NoError(t, fsys.RemoveAll(path.Join(name, "a")))
	_, err = fsys.Free(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadFile(fsys, name)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func testFolders(t *testing.T, fsys FS, dir string) {
	deep := path.Join(dir, "a/b/c")
	require.NoError(t, fsys.MkdirAll(deep))
	require.NoError(t, fsys.MkdirAll(deep))
	create(t, fsys, path.Join(deep, "z"), "z")
	create(t, fsys, path.Join(deep, "y"), "y")
	require.Equal(t, []string{"y", "z"}, names(t, fsys, deep))
	require.Equal(t, []string{"a"}, names(t, fsys, dir))
	info, err := fsys.Stat(deep)
	require.NoError(t, err)
	require.True(t, info.IsDir())
	require.NoError(t, fsys.SyncDir(deep))

	require.Error(t, fsys.MkdirAll(path.Join(deep, "z")), "a file is in the way")
	require.Error(t, fsys.Remove(deep), "not empty")
	_, err = fsys.Create(deep)
	require.Error(t, err, "a folder is in the way")
	require.NoError(t, fsys.Remove(path.Join(deep, "y")))
	require.NoError(t, fsys.Remove(path.Join(deep, "z")))
	require.NoError(t, fsys.Remove(deep))
	create(t, fsys, path.Join(dir, "a/b/f"), "f")
	require.NoError(t, fsys.RemoveAll(path.Join(dir, "a")))
	require.Empty(t, names(t, fsys, dir))
}

func testRename(t *testing.T, fsys FS, dir string) {
	a, b := path.Join(dir, "a"), path.Join(dir, "b")
	create(t, fsys, a, "new")
	create(t, fsys, b, "old")
	require.NoError(t, fsys.Rename(a, b))
	require.Equal(t, "new", content(t, fsys, b))
	require.Equal(t, []string{"b"}, names(t, fsys, dir))

	from, to := path.Join(dir, "from"), path.Join(dir, "to")
	require.NoError(t, fsys.MkdirAll(from))
	create(t, fsys, path.Join(from, "x"), "x")
	require.NoError(t, fsys.Rename(from, to))
	require.Equal(t, "x", content(t, fsys, path.Join(to, "x")))
	require.Error(t, fsys.Rename(b, to), "a folder is not replaced by a file")
	require.Equal(t, []string{"b", "to"}, names(t, fsys, dir))
}

func testLink(t *testing.T, fsys FS, dir string) {
	a, b := path.Join(dir, "a"), path.Join(dir, "b")
	create(t, fsys, a, "one")
	require.NoError(t, fsys.Link(a, b))
	require.ErrorIs(t, fsys.Link(a, b), fs.ErrExist)
	f, err := fsys.OpenWrite(a)
	require.NoError(t, err)
	_, err = f.Write([]byte(" two"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, "one two", content(t, fsys, b))
	require.NoError(t, fsys.Remove(a))
	require.Equal(t, "one two", content(t, fsys, b))
}

func testLock(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "lock")
	l, err := fsys.Lock(name)
	require.NoError(t, err)
	_, err = fsys.Lock(name)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, name)
	require.NoError(t, l.Close())
	require.Error(t, l.Close())
	l, err = fsys.Lock(name)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

func testFree(t *testing.T, fsys FS, dir string) {
	n, err := fsys.Free(dir)
	require.NoError(t, err)
	require.Positive(t, n)
}

func testClose(t *testing.T, fsys FS, dir string) {
	f, err := fsys.Create(path.Join(dir, "a"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Close(), fs.ErrClosed)
	require.ErrorIs(t, f.Sync(), fs.ErrClosed)
	require.ErrorIs(t, f.Truncate(0), fs.ErrClosed)
	_, err = f.Write([]byte("x"))
	require.ErrorIs(t, err, fs.ErrClosed)
	_, err = f.ReadAt(make([]byte, 1), 0)
	require.ErrorIs(t, err, fs.ErrClosed)
	_, err = f.Size()
	require.ErrorIs(t, err, fs.ErrClosed)
}

func testWriteFileAtomic(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "a")
	require.NoError(t, WriteFileAtomic(fsys, name, []byte("one")))
	require.NoError(t, WriteFileAtomic(fsys, name, []byte("two")))
	require.Equal(t, "two", content(t, fsys, name))
	require.Equal(t, []string{"a"}, names(t, fsys, dir))
}

func testMkdirDurable(t *testing.T, fsys FS, dir string) {
	deep := path.Join(dir, "a/b")
	require.NoError(t, MkdirDurable(fsys, deep))
	require.NoError(t, MkdirDurable(fsys, deep))
	require.Empty(t, names(t, fsys, deep))
}

func testGoroutines(t *testing.T, fsys FS, dir string) {
	f, err := fsys.Create(path.Join(dir, "shared"))
	require.NoError(t, err)
	_, err = f.Write([]byte("0123456789"))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			name := path.Join(dir, string(rune('a'+i)))
			for range 20 {
				b := make([]byte, 3)
				if _, err := f.ReadAt(b, int64(i)); err != nil {
					t.Error(err)
				}
				if err := f.Sync(); err != nil {
					t.Error(err)
				}
				if err := WriteFileAtomic(fsys, name, b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 { // one goroutine writes while others read and sync
		_, err := f.Write([]byte("x"))
		require.NoError(t, err)
	}
	wg.Wait()
	require.NoError(t, f.Close())
	require.Equal(t, []string{"a", "b", "c", "d", "shared"}, names(t, fsys, dir))
	require.Equal(t, "345", content(t, fsys, path.Join(dir, "d")))
}

func testMap(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "a")
	for _, want := range []string{"", "x", string(make([]byte, 100_000)) + "end"} {
		create(t, fsys, name, want)
		m, err := fsys.Map(name)
		require.NoError(t, err)
		require.Equal(t, want, string(m.Bytes()))
		require.NoError(t, fsys.Remove(name))
		require.Equal(t, want, string(m.Bytes()), "a removed file stays mapped")
		require.NoError(t, m.Drop())
		require.Equal(t, want, string(m.Bytes()), "what was dropped comes back")
		require.NoError(t, m.Close())
	}
	_, err := fsys.Map(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
