package rollup

// Scratch is memory that the functions work in, kept from series to series. The
// zero value is ready. It is not for concurrent use.
type Scratch struct {
	f0, f1 []float64
	n0     []int32
	lost   []float64
	u0     []uint64
	lanes  four
	window Window
	arg    []float64
	resets []uint8

	i0, i1, i2, i3 []int64
}

func (in *Input) scratch() *Scratch {
	if in.Scratch == nil {
		in.Scratch = &Scratch{}
	}
	return in.Scratch
}

// grow returns buf with the length n and unspecified content.
func grow[T any](buf *[]T, n int) []T {
	if cap(*buf) < n {
		*buf = make([]T, n+n/4)
	}
	return (*buf)[:n]
}

// copy returns a copy of the values, to be sorted.
func (s *Scratch) copy(fs []float64) []float64 {
	to := grow(&s.f0, len(fs))
	copy(to, fs)
	return to
}
