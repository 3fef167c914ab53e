package rollup

// Slide sets the windows of all steps: Lo and Hi, and HLo and HHi if there are
// histograms. The window of step i holds the samples after end-Range up to end,
// where end is Env.Grid.T(i)-Offset; an anchored one starts earlier by the
// look-back, a smoothed one also ends later by it. With fixed, which an @
// modifier asks for, all steps have the window of the first. The memory of the
// bounds is reused.
func (in *Input) Slide(fixed bool) {
	in.Lo, in.Hi = in.slide(in.T, in.Lo, in.Hi, fixed)
	if len(in.HT) == 0 {
		in.HLo, in.HHi = nil, nil
		return
	}
	in.HLo, in.HHi = in.slide(in.HT, in.HLo, in.HHi, fixed)
}

func (in *Input) slide(t []int64, lo, hi []int32, fixed bool) (_, _ []int32) {
	n := in.Env.Grid.N
	lo, hi = grow(&lo, n), grow(&hi, n)
	maxt := in.Env.Grid.Start - in.Offset
	mint := maxt - in.Range
	if in.Anchored || in.Smoothed {
		mint -= in.Env.Lookback
	}
	if in.Smoothed {
		maxt += in.Env.Lookback
	}
	step := in.Env.Grid.Step
	if fixed {
		step = 0
	}
	var a, b cursor
	for i := range lo {
		lo[i], hi[i] = a.after(t, mint), b.after(t, maxt)
		mint += step
		maxt += step
	}
	return lo, hi
}

// cursor is a place in ascending times that only moves forward.
type cursor struct{ i, stride int }

// after moves to the first time after bound. It tries first whether that is as
// far as the last move went, as it is where samples are evenly spaced.
func (c *cursor) after(t []int64, bound int64) int32 {
	i := c.i
	if j := i + c.stride; j > i && j <= len(t) && t[j-1] <= bound {
		i = j
	}
	for i < len(t) && t[i] <= bound {
		i++
	}
	c.i, c.stride = i, i-c.i
	return int32(i)
}
