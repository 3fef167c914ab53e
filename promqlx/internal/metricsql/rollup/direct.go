package rollup

// direct appends a value for each step: the fast form of a kernel, with a loop of
// its own over the steps. It yields the same bits as walk with the kernel.
type direct func(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64

func (r *Roller) bounds(timestamps []int64, s *Scratch) (bounds, int64) {
	width, reach := r.reach(timestamps, s)
	return bounds{timestamps: timestamps, width: width}, width + reach
}

func directLast(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64 {
	b, _ := r.bounds(timestamps, s)
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		v := nan
		if b.i < b.j {
			v = values[b.j-1]
		}
		dst = append(dst, v)
	}
	return dst
}

func directFirst(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64 {
	b, _ := r.bounds(timestamps, s)
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		v := nan
		if b.i < b.j {
			v = values[b.i]
		}
		dst = append(dst, v)
	}
	return dst
}

func directCount(dst []float64, r *Roller, _ []float64, timestamps []int64, s *Scratch) []float64 {
	b, _ := r.bounds(timestamps, s)
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		v := nan
		if b.i < b.j {
			v = float64(b.j - b.i)
		}
		dst = append(dst, v)
	}
	return dst
}

func directSum(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64 {
	b, _ := r.bounds(timestamps, s)
	var sums []float64
	sliding := false
	if r.overlaps(b.width, manySums) {
		sums, sliding = s.prefixes(values)
	}
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		v := nan
		switch {
		case b.i == b.j:
		case sliding:
			v = sums[b.j] - sums[b.i]
		case s.Pace.Over(b.j - b.i):
			return dst
		default:
			v = add(values[b.i:b.j])
		}
		dst = append(dst, v)
	}
	return dst
}

func directAvg(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64 {
	b, _ := r.bounds(timestamps, s)
	var sums []float64
	sliding := false
	if r.overlaps(b.width, manySums) {
		sums, sliding = s.prefixes(values)
	}
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		v := nan
		switch {
		case b.i == b.j:
		case sliding:
			v = (sums[b.j] - sums[b.i]) / float64(b.j-b.i)
		case s.Pace.Over(b.j - b.i):
			return dst
		default:
			v = add(values[b.i:b.j]) / float64(b.j-b.i)
		}
		dst = append(dst, v)
	}
	return dst
}

func directMin(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64 {
	b, _ := r.bounds(timestamps, s)
	if r.noNaNs && r.overlaps(b.width, manyExtremes) {
		return r.extreme(dst, b, values, -1, s)
	}
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		v := nan
		if b.i < b.j {
			if s.Pace.Over(b.j - b.i) {
				return dst
			}
			v = least(values[b.i:b.j])
		}
		dst = append(dst, v)
	}
	return dst
}

func directMax(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64 {
	b, _ := r.bounds(timestamps, s)
	if r.noNaNs && r.overlaps(b.width, manyExtremes) {
		return r.extreme(dst, b, values, 1, s)
	}
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		v := nan
		if b.i < b.j {
			if s.Pace.Over(b.j - b.i) {
				return dst
			}
			v = greatest(values[b.i:b.j])
		}
		dst = append(dst, v)
	}
	return dst
}

// directRate is of derivFast.
func directRate(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64 {
	b, reach := r.bounds(timestamps, s)
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		i, j := b.i, b.j
		from, fromT := nan, int64(0)
		if 0 < i && i < len(timestamps) && timestamps[i-1] > t-reach {
			from, fromT = values[i-1], timestamps[i-1]
		}
		v := nan
		switch {
		case isNaN(from):
			if j-i > 1 {
				v = (values[j-1] - values[i]) / seconds(timestamps[j-1]-timestamps[i])
			}
		case i == j:
			v = 0
		default:
			v = (values[j-1] - from) / seconds(timestamps[j-1]-fromT)
		}
		dst = append(dst, v)
	}
	return dst
}

func directDelta(dst []float64, r *Roller, values []float64, timestamps []int64, s *Scratch) []float64 {
	b, reach := r.bounds(timestamps, s)
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		i, j := b.i, b.j
		prev := nan
		if 0 < i && i < len(timestamps) && timestamps[i-1] > t-reach {
			prev = values[i-1]
		}
		v := nan
		switch {
		case i == j:
			if !isNaN(prev) {
				v = 0
			}
		case !isNaN(prev):
			v = values[j-1] - prev
		default:
			next := nan
			if j < len(values) {
				next = values[j]
			}
			v = deltaOf(values[i:j], prev, r.realPrev(values, timestamps, i, j, t-b.width), next)
		}
		dst = append(dst, v)
	}
	return dst
}
