package tsdb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// BenchmarkReadShort reads five minutes of a thousand series, and their last samples,
// over and over: with samples kept, and without.
func BenchmarkReadShort(b *testing.B) {
	for _, kept := range []bool{false, true} {
		var opts tsdb.Options
		if !kept {
			opts.SampleCacheBytes = -1
		}
		db := benchStore(b, 1000, 4320, 1, false, opts)
		v := benchView(b, db, t0, t0+day)
		for _, at := range []int64{3600_000, 20_000_000, 43_000_000} {
			b.Run(fmt.Sprint("kept=", kept, "/five minutes/at=", at/1000), func(b *testing.B) {
				b.ReportAllocs()
				var into tsdb.Samples
				i := 0
				for b.Loop() {
					into.Reset()
					if err := v.Read(i%1000, t0+at-300_000+1, t0+at, &into); err != nil || len(into.T) != 30 {
						b.Fatal(err, len(into.T))
					}
					i++
				}
			})
			b.Run(fmt.Sprint("kept=", kept, "/last/at=", at/1000), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if _, _, _, _, ok, err := v.Last(i%1000, t0+at-300_000+1, t0+at); err != nil || !ok {
						b.Fatal(err)
					}
					i++
				}
			})
		}
		require.NoError(b, db.Close())
	}
}
