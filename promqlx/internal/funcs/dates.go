package funcs

import (
	"time"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// dateFunc looks up the functions of dates. (dateWrapper of Prometheus'
// promql/functions.go.)
func dateFunc(name string) (Func, bool) {
	near, far := nearDate(name), datePart(name)
	if far == nil {
		return Func{}, false
	}
	f := func(seconds int64) float64 {
		if -nearSeconds <= seconds && seconds <= nearSeconds {
			return near(seconds)
		}
		return far(time.Unix(seconds, 0).UTC())
	}
	return Func{
		Each: func(in *Input, r *row.Row) {
			fs := floats(in, r)
			for i, v := range fs {
				fs[i] = f(int64(v))
			}
		},
		Scalar: func(in *Input, _ [][]*row.Row, out []float64) {
			for i := range out {
				out[i] = f(in.Env.Grid.T(i) / 1000)
			}
		},
		Join: true,
	}, true
}

// datePart looks up the functions of any time.
func datePart(name string) func(time.Time) float64 {
	switch name {
	case "days_in_month":
		return func(t time.Time) float64 {
			return float64(32 - time.Date(t.Year(), t.Month(), 32, 0, 0, 0, 0, time.UTC).Day())
		}
	case "day_of_month":
		return func(t time.Time) float64 { return float64(t.Day()) }
	case "day_of_week":
		return func(t time.Time) float64 { return float64(t.Weekday()) }
	case "day_of_year":
		return func(t time.Time) float64 { return float64(t.YearDay()) }
	case "hour":
		return func(t time.Time) float64 { return float64(t.Hour()) }
	case "minute":
		return func(t time.Time) float64 { return float64(t.Minute()) }
	case "month":
		return func(t time.Time) float64 { return float64(t.Month()) }
	case "year":
		return func(t time.Time) float64 { return float64(t.Year()) }
	}
	return nil
}

// nearSeconds bounds the times that nearDate takes: some 3000 years around
// 1970.
const nearSeconds = 100_000_000_000

// nearDate looks up what datePart does, in seconds since 1970.
func nearDate(name string) func(seconds int64) float64 {
	switch name {
	case "days_in_month":
		return func(s int64) float64 { return float64(civilOf(s).monthDays()) }
	case "day_of_month":
		return func(s int64) float64 { return float64(civilOf(s).day) }
	case "day_of_week":
		return func(s int64) float64 { return float64((dayOf(s) + 4) % 7) } // day 0 is a Thursday, the era begins on one
	case "day_of_year":
		return func(s int64) float64 { return float64(civilOf(s).yearDay()) }
	case "hour":
		return func(s int64) float64 { return float64((s + eraSeconds) % 86400 / 3600) }
	case "minute":
		return func(s int64) float64 { return float64((s + eraSeconds) % 3600 / 60) }
	case "month":
		return func(s int64) float64 { return float64(civilOf(s).month) }
	case "year":
		return func(s int64) float64 { return float64(civilOf(s).year) }
	}
	return nil
}

// Near times are counted from 4000 years before 1970, so that nothing is
// negative. The calendar repeats every 400 years: 146097 days, whole weeks.
const (
	cycleDays  = 146097
	eraYears   = 4000
	eraDays    = eraYears / 400 * cycleDays
	eraSeconds = eraDays * 86400
)

// dayOf returns the day of a time, counted from the start of the era.
func dayOf(s int64) int64 { return (s + eraSeconds) / 86400 }

// civil is a day of the calendar.
type civil struct {
	year, month, day int64
	march            int64 // days since the last first of March
}

// civilOf finds the day of a time. Years are taken to begin in March, so that
// the leap day is the last (Howard Hinnant, "chrono-compatible low-level date
// algorithms").
func civilOf(s int64) civil {
	d := dayOf(s) + 719468 // days since 1 March of a year divisible by 400
	cycle, d := d/cycleDays, d%cycleDays
	year := (d - d/1460 + d/36524 - d/146096) / 365
	c := civil{year: year + 400*cycle - eraYears}
	c.march = d - (365*year + year/4 - year/100)
	m := (5*c.march + 2) / 153
	c.day = c.march - (153*m+2)/5 + 1
	c.month = m + 3
	if m >= 10 {
		c.month -= 12
		c.year++
	}
	return c
}

func (c civil) leap() int64 {
	if c.year%4 == 0 && (c.year%100 != 0 || c.year%400 == 0) {
		return 1
	}
	return 0
}

// yearDay returns the day of the year, from 1.
func (c civil) yearDay() int64 {
	if c.month <= 2 {
		return c.march - 305
	}
	return c.march + 60 + c.leap()
}

func (c civil) monthDays() int64 {
	switch c.month {
	case 2:
		return 28 + c.leap()
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
