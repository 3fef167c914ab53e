package tsdb_test

import (
	"context"
	"fmt"
	"math/rand"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

func manySeries(i int) labels.Labels {
	return labels.FromStrings("__name__", fmt.Sprintf("m%d", i%3), "i", fmt.Sprintf("%06d", i), "text", fmt.Sprintf("%x", i*i*7919))
}

// fill writes a part with a large index.
func fillPart(t *testing.T, db *tsdb.DB, n int) {
	b := db.Batch()
	for i := range n {
		s, err := b.Series(manySeries(i))
		require.NoError(t, err)
		require.NoError(t, b.Float(s, 0, t0+int64(i), float64(i)))
	}
	require.NoError(t, b.Commit(context.Background()))
	require.NoError(t, db.ForceFlush(context.Background()))
}

func readView(v *tsdb.View) (labelsOf map[string]float64, groups map[string]int, err error) {
	labelsOf, groups = map[string]float64{}, map[string]int{}
	column := v.Column("__name__")
	lists := make([]labels.Labels, v.Len())
	for i := range lists {
		lists[i] = v.Labels(i)
		groups[column.Value(column.Ordinal(i))]++
	}
	for i, lset := range lists {
		c := v.Cursor(i, t0, t0+day)
		for c.Next() {
			labelsOf[lset.String()] = c.Span().Float(0)
		}
		if c.Err() != nil {
			return nil, nil, c.Err()
		}
	}
	return labelsOf, groups, nil
}

// A View of one part alone makes labels late; one of several, or of a part and
// the head, has them at once: both say the same.
func TestLateLabelsEqualEarlyOnes(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{})
	fillPart(t, db, 6000)
	ms := []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "i", "00.*")}
	read := func() (map[string]float64, map[string]int) {
		v, err := db.Select(ctx, t0, t0+day-1, ms...)
		require.NoError(t, err)
		defer v.Close()
		for i := 1; i < v.Len(); i++ {
			require.Negative(t, labels.Compare(v.Labels(i-1), v.Labels(i)))
		}
		got, groups, err := readView(v)
		require.NoError(t, err)
		return got, groups
	}
	late, lateGroups := read()
	require.Len(t, late, 6000)
	require.Equal(t, map[string]int{"m0": 2000, "m1": 2000, "m2": 2000}, lateGroups)
	require.EqualValues(t, 4321, late[manySeries(4321).String()])
	add(t, db, labels.FromStrings("__name__", "other", "i", "00"), tsdbtest.Sample{T: t0, V: 1})
	early, earlyGroups := read()
	require.Len(t, early, 6001)
	delete(early, `{__name__="other", i="00"}`)
	require.Equal(t, late, early)
	require.Equal(t, 1, earlyGroups["other"])
}

// A damaged page of an index is an error of those who need it and no wrong
// answer for anyone.
func TestDamagedIndexPages(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openStore(t, tsdb.Options{FS: mem})
	fillPart(t, db, 6000)
	v, err := db.Select(ctx, t0, t0+day-1)
	require.NoError(t, err)
	want, _, err := readView(v)
	require.NoError(t, err)
	v.Close()
	require.NoError(t, db.Close())
	months, err := mem.List("store/parts")
	require.NoError(t, err)
	ids, err := mem.List("store/parts/" + months[0])
	require.NoError(t, err)
	name := "store/parts/" + months[0] + "/" + ids[0] + "/index"
	good, err := vfs.ReadFile(mem, name)
	require.NoError(t, err)
	require.Greater(t, len(good), 64<<10)
	told := 0
	for at := 64; at < len(good)-64; at += len(good) / 30 {
		bad := append([]byte(nil), good...)
		bad[at] ^= 1
		clone := mem.CrashClone(rand.New(rand.NewSource(1)), 1)
		f, err := clone.Create(name)
		require.NoError(t, err)
		_, err = f.Write(bad)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		db := openStore(t, tsdb.Options{FS: clone})
		if len(db.Parts()) == 0 {
			told++ // set aside at once
			continue
		}
		var got map[string]float64
		v, err := db.Select(ctx, t0, t0+day-1)
		if err == nil {
			got, _, err = readView(v)
			v.Close()
		}
		if err != nil {
			require.ErrorIs(t, err, tsdb.ErrCorrupt)
			require.ErrorContains(t, err, name)
			told++
		} else {
			require.Equal(t, want, got)
		}
		one := labels.MustNewMatcher(labels.MatchEqual, "i", "004321")
		if values, err := db.LabelValues(ctx, "__name__", t0, t0+day-1, one); err == nil {
			require.Equal(t, []string{"m1"}, values)
		} else {
			require.ErrorIs(t, err, tsdb.ErrCorrupt)
		}
	}
	require.Greater(t, told, 10)
}
