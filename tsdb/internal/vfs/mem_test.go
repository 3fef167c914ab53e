package vfs

import (
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree returns every file with its content, and every folder with a slash.
func tree(t *testing.T, fsys FS, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names(t, fsys, dir) {
		full := strings.TrimPrefix(dir+"/"+name, "./")
		info, err := fsys.Stat(full)
		require.NoError(t, err)
		if info.IsDir() {
			out[full+"/"] = ""
			maps.Copy(out, tree(t, fsys, full))
			continue
		}
		out[full] = content(t, fsys, full)
	}
	return out
}

func TestCrashClone(t *testing.T) {
	type want map[string]string
	f := func(name string, do func(t *testing.T, m *Mem), none, all want) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			m := NewMem()
			do(t, m)
			rng := rand.New(rand.NewSource(1))
			require.Equal(t, map[string]string(none), tree(t, m.CrashClone(rng, 0), "."), "only what was synced")
			require.Equal(t, map[string]string(all), tree(t, m.CrashClone(rng, 1), "."), "everything")
		})
	}
	syncDir := func(t *testing.T, m *Mem, dir string) { require.NoError(t, m.SyncDir(dir)) }
	write := func(t *testing.T, m *Mem, name, synced, unsynced string) File {
		file, err := m.Create(name)
		require.NoError(t, err)
		_, err = file.Write([]byte(synced))
		require.NoError(t, err)
		require.NoError(t, file.Sync())
		_, err = file.Write([]byte(unsynced))
		require.NoError(t, err)
		return file
	}

	f("content", func(t *testing.T, m *Mem) {
		write(t, m, "a", "one", "two")
		syncDir(t, m, ".")
	}, want{"a": "one"}, want{"a": "onetwo"})
	f("entry", func(t *testing.T, m *Mem) {
		write(t, m, "a", "one", "")
	}, want{}, want{"a": "one"})
	f("entry of a folder whose own entry is lost", func(t *testing.T, m *Mem) {
		require.NoError(t, m.MkdirAll("d"))
		write(t, m, "d/a", "one", "")
		syncDir(t, m, "d")
	}, want{}, want{"d/": "", "d/a": "one"})
	f("mkdir durable", func(t *testing.T, m *Mem) {
		require.NoError(t, MkdirDurable(m, "d/e"))
		write(t, m, "d/e/a", "one", "")
		syncDir(t, m, "d/e")
	}, want{"d/": "", "d/e/": "", "d/e/a": "one"}, want{"d/": "", "d/e/": "", "d/e/a": "one"})
	f("remove", func(t *testing.T, m *Mem) {
		write(t, m, "a", "one", "")
		syncDir(t, m, ".")
		require.NoError(t, m.Remove("a"))
	}, want{"a": "one"}, want{})
	f("rename over", func(t *testing.T, m *Mem) {
		write(t, m, "a", "old", "")
		write(t, m, "b", "new", "er")
		syncDir(t, m, ".")
		require.NoError(t, m.Rename("b", "a"))
	}, want{"a": "old", "b": "new"}, want{"a": "newer"})
	f("rename synced", func(t *testing.T, m *Mem) {
		write(t, m, "a", "old", "")
		write(t, m, "b", "new", "")
		require.NoError(t, m.Rename("b", "a"))
		syncDir(t, m, ".")
	}, want{"a": "new"}, want{"a": "new"})
	f("truncate and write", func(t *testing.T, m *Mem) {
		file := write(t, m, "a", "0123456789", "xyz")
		syncDir(t, m, ".")
		require.NoError(t, file.Truncate(4))
		_, err := file.Write([]byte("abc"))
		require.NoError(t, err)
	}, want{"a": "0123456789"}, want{"a": "0123abc"})
	f("create over", func(t *testing.T, m *Mem) {
		write(t, m, "a", "old", "")
		syncDir(t, m, ".")
		create(t, m, "a", "new")
	}, want{"a": "old"}, want{"a": "new"})
	f("two names of one file", func(t *testing.T, m *Mem) {
		write(t, m, "a", "one", "two")
		require.NoError(t, m.Link("a", "b"))
		syncDir(t, m, ".")
	}, want{"a": "one", "b": "one"}, want{"a": "onetwo", "b": "onetwo"})
	f("write file atomic", func(t *testing.T, m *Mem) {
		require.NoError(t, WriteFileAtomic(m, "a", []byte("one")))
		require.NoError(t, WriteFileAtomic(m, "a", []byte("two")))
	}, want{"a": "two"}, want{"a": "two"})
}

// TestCrashCloneInBetween: what was synced is always there, what is left of the
// rest comes from what was written, and many outcomes do occur.
func TestCrashCloneInBetween(t *testing.T) {
	m := NewMem()
	f, err := m.Create("a")
	require.NoError(t, err)
	require.NoError(t, m.SyncDir("."))
	_, err = f.Write([]byte("synced"))
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	_, err = f.Write([]byte("unsynced"))
	require.NoError(t, err)

	seen := map[string]bool{}
	for seed := range int64(300) {
		c := m.CrashClone(rand.New(rand.NewSource(seed)), 0.3)
		got := content(t, c, "a")
		require.Equal(t, got, content(t, m.CrashClone(rand.New(rand.NewSource(seed)), 0.3), "a"), "same seed")
		require.True(t, strings.HasPrefix(got, "synced"))
		for i, b := range []byte(got) {
			require.True(t, b == 0 || b == "syncedunsynced"[i], "%q", got)
		}
		require.Equal(t, int64(len(got)), c.Used())
		seen[got] = true
	}
	require.Greater(t, len(seen), 15)
	require.True(t, seen["synced"] && seen["syncedunsynced"])

	// The clone is on its own.
	c := m.CrashClone(rand.New(rand.NewSource(1)), 1)
	require.NoError(t, f.Truncate(6))
	_, err = f.Write([]byte("UNSYNCED"))
	require.NoError(t, err)
	require.Equal(t, "syncedunsynced", content(t, c, "a"))
	create(t, c, "a", "clone")
	require.Equal(t, "syncedUNSYNCED", content(t, m, "a"))
}

func TestCapacity(t *testing.T) {
	m := NewMem()
	m.SetCapacity(10)
	create(t, m, "a", "12345")
	f, err := m.Create("b")
	require.NoError(t, err)
	n, err := f.Write([]byte("1234567"))
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorContains(t, err, "b")
	require.Equal(t, 5, n, "what fits is written")
	free, err := m.Free(".")
	require.NoError(t, err)
	require.Zero(t, free)
	require.ErrorIs(t, WriteFileAtomic(m, "c", []byte("x")), ErrNoSpace)
	require.Equal(t, []string{"a", "b"}, names(t, m, "."), "no leftover")

	require.NoError(t, f.Truncate(2))
	_, err = f.Write([]byte("345"))
	require.NoError(t, err)
	require.ErrorIs(t, f.Truncate(6), ErrNoSpace)

	require.NoError(t, m.Remove("b"))
	require.EqualValues(t, 10, m.Used(), "an open file takes its space")
	require.NoError(t, f.Close())
	require.EqualValues(t, 5, m.Used())
	require.NoError(t, m.Link("a", "a2"))
	require.NoError(t, m.Remove("a"))
	require.EqualValues(t, 5, m.Used())
	require.NoError(t, m.MkdirAll("d"))
	create(t, m, "d/x", "123")
	require.NoError(t, m.RemoveAll("d"))
	require.EqualValues(t, 5, m.Used())

	m.SetCapacity(-1)
	create(t, m, "big", strings.Repeat("x", 100))
}

// TestWriteFileAtomicFaults: for every operation that fails and every crash
// after it, the file has its old content or the new one.
func TestWriteFileAtomicFaults(t *testing.T) {
	outcomes := []string{}
	for k := int64(1); ; k++ {
		mem := NewMem()
		require.NoError(t, WriteFileAtomic(mem, "a", []byte("old")))
		fault := NewFault(mem)
		fault.ShortWrites(true)
		fault.FailOp(k)
		err := WriteFileAtomic(fault, "a", []byte("new"))
		if fault.Fired() == 0 {
			require.NoError(t, err)
			break
		}
		require.ErrorIs(t, err, ErrInjected)
		for seed := range int64(50) {
			got := content(t, mem.CrashClone(rand.New(rand.NewSource(seed)), 0.5), "a")
			require.Contains(t, []string{"old", "new"}, got, "k=%d seed=%d", k, seed)
			outcomes = append(outcomes, got)
		}
	}
	require.True(t, slices.Contains(outcomes, "old") && slices.Contains(outcomes, "new"))
}
