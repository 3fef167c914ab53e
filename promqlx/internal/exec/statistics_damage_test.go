package exec

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// dataFile returns the largest data file of a store.
func dataFile(t *testing.T, dir string) (name string) {
	size := int64(0)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "data" {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > size {
			name, size = path, info.Size()
		}
		return err
	}))
	require.NotEmpty(t, name)
	return name
}

// Of a damaged store statistics answer what it held, or fail as reading does; once
// the damage is known they leave out and warn of what reading does.
func TestStatisticsOfDamage(t *testing.T) {
	dir := t.TempDir()
	opts := tsdb.Options{Sync: tsdb.SyncOff(), MinFree: -1}
	open := func() *tsdb.DB {
		db, err := tsdb.Open(dir, opts)
		require.NoError(t, err)
		return db
	}
	s := &statStore{t: t, r: rand.New(rand.NewPCG(1, 9)), db: open(), n: map[string]int{}}
	statStates["flushed"](s)
	s.merge()
	require.NoError(t, s.db.Close())
	name := dataFile(t, dir)
	sound, err := os.ReadFile(name)
	require.NoError(t, err)

	grid := row.GridOf(t0+dayMs+7*minute, t0+3*dayMs, 12*60*minute)
	ask := func(db *tsdb.DB, fn string, with bool) (answers, error) {
		n := rollupOf(fn, ".+", dayMs, 0, nil)
		n.Stats = with
		p := Params{Queryable: tsdb.NewStorage(db), Grid: grid, eager: true}
		p.Meter, p.Memory, p.Stats, p.Workers = &free{}, memory, stats.NewQuerySamples(true), 1
		if _, _, _, err := Run(context.Background(), n, p); err != nil {
			return answers{}, err
		}
		return answersOf(t, n, p, 1), nil
	}
	db := open()
	truth := map[string]answers{}
	for _, fn := range statFuncs {
		truth[fn], err = ask(db, fn, false)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	failed, warned := 0, 0
	for range 30 {
		damaged := append([]byte(nil), sound...)
		damaged[s.r.IntN(len(damaged))] ^= 1 << s.r.IntN(8)
		require.NoError(t, os.WriteFile(name, damaged, 0o600))
		db, err := tsdb.Open(dir, opts)
		require.NoError(t, err)
		fn := statFuncs[s.r.IntN(len(statFuncs))]
		got, err := ask(db, fn, true)
		if err != nil {
			failed++
			require.ErrorIs(t, err, tsdb.ErrCorrupt)
		} else if !strings.Contains(got.notes, "corrupt") {
			sameAnswers(t, truth[fn], got, fn)
		}
		for range 20 { // each finds one more place that is damaged
			if _, err = ask(db, fn, false); err == nil {
				break
			}
			require.ErrorIs(t, err, tsdb.ErrCorrupt)
		}
		want, err := ask(db, fn, false)
		require.NoError(t, err)
		got, err = ask(db, fn, true)
		require.NoError(t, err)
		sameAnswers(t, want, got, fn)
		if len(want.notes) > len(truth[fn].notes) {
			warned++
		}
		require.NoError(t, db.Close())
	}
	require.Positive(t, failed)
	require.Positive(t, warned)
}
