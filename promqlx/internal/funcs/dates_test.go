package funcs

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNearDates holds the arithmetic of near times equal to package time, on
// every day of its range's edges and of the years around 1970 and 2000.
func TestNearDates(t *testing.T) {
	names := []string{"days_in_month", "day_of_month", "day_of_week", "day_of_year", "hour", "minute", "month", "year"}
	check := func(seconds int64) {
		for _, name := range names {
			want := datePart(name)(time.Unix(seconds, 0).UTC())
			if got := nearDate(name)(seconds); got != want {
				t.Fatalf("%s(%d): got %v, want %v", name, seconds, got, want)
			}
		}
	}
	for day := int64(0); day < 4000; day++ {
		for _, from := range []int64{-nearSeconds, -86400 * 2000, 86400 * 9000, nearSeconds - 86400*3999} {
			check(from + 86400*day)
			if from != -nearSeconds || day > 0 {
				check(from + 86400*day - 1)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		check(rnd.Int64N(2*nearSeconds+1) - nearSeconds)
	}
	require.Equal(t, float64(4), nearDate("day_of_week")(0))
	require.Equal(t, float64(1970), nearDate("year")(0))
}
