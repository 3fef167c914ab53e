package rollup

// Ends are the first and the last sample of a window, in milliseconds, the value of
// the first, and how many samples there are.
type Ends struct {
	FirstT, LastT int64
	First         float64
	N             int
}

// Rates computes rate, increase or delta of windows of which no more is known than
// their ends and what was before resets. There are no start timestamps.
type Rates struct{ x extrapolator }

// Rates returns the computation by the function of a name, for windows of in: of
// that only Range, Offset, their rests and the grid are looked at.
func (in *Input) Rates(name string) *Rates {
	k := rateKind{counter: name != "delta", perSecond: name == "rate"}
	return &Rates{extrapolator{in: in, kind: k, before: in.rangeAndOffset(), seconds: in.rangeSeconds()}}
}

// Value returns the value of the window of a step. increase is its last value less
// its first, and of a counter what each reset hid, added in order of time. There is
// none if the window has but one sample.
func (r *Rates) Value(step int, e Ends, increase float64) (v float64, ok bool) {
	if e.N < 2 {
		return 0, false
	}
	return r.x.between(r.x.in.Env.Grid.T(step), e, increase), true
}
