package tsdb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// BenchmarkReadShort reads five minutes of a thousand series, and their last samples.
func BenchmarkReadShort(b *testing.B) {
	db := benchStore(b, 1000, 4320, 1, false, tsdb.Options{})
	v := benchView(b, db, t0, t0+day)
	for _, at := range []int64{3600_000, 20_000_000, 43_000_000} {
		b.Run("five minutes", func(b *testing.B) {
			b.ReportAllocs()
			var into tsdb.Samples
			i := 0
			for b.Loop() {
				into.Reset()
				require.NoError(b, v.Read(i%1000, t0+at-300_000+1, t0+at, &into))
				if len(into.T) != 30 {
					b.Fatal(len(into.T))
				}
				i++
			}
		})
	}
}
