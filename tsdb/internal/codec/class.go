package codec

import "math/bits"

// Class coded residuals of one stream: the bit lengths of the zigzagged
// residuals, less an origin, as symbols; right behind them, residual after
// residual, the bits below the highest one.

func classOf(x int64) int { return bits.Len64(Zigzag(x)) }

func appendClasses(dst []byte, r []int64, origin int, t *table, scratch []int64) []byte {
	s := scratch[:0]
	for _, x := range r {
		s = append(s, int64(classOf(x)-origin))
	}
	w := BitWriter{B: dst}
	writeSymbols(&w, t, s)
	for _, x := range r {
		u := Zigzag(x)
		if n := uint(bits.Len64(u)); n > 1 {
			w.Write(u&maskOf(n-1), n-1)
		}
	}
	w.Flush()
	return w.B
}

// classes decodes one stream of class coded residuals into dst, adding centre
// to each.
func classes[T Lane](dst []T, src []byte, origin int, t *table, centre T, s *Scratch) (end uint, ok bool) {
	lengths := Params{Codec: Huff, Centre: int64(origin)}
	pos := uint(0)
	h := huffState[T]{p: &lengths, t: t, src: src}
	for rest := dst; len(rest) > 0; {
		n := min(len(rest), laneRun)
		var got int
		if got, pos = s.run(0, n, src, pos, t, true); got > 0 {
			joinValues(rest[:got], s, 0, T(origin), nil, 0)
			rest = rest[got:]
		}
		if got == n {
			continue
		}
		a, b, end, ok := oneWord(src, pos, t)
		if !ok {
			return 0, false
		}
		pos = end
		rest[0] = h.next(a)
		if rest = rest[1:]; t.width == 2 && len(rest) > 0 {
			rest[0] = h.next(b)
			rest = rest[1:]
		}
	}
	return rawParts(dst, src, pos, centre)
}

// rawParts makes residuals of bit lengths and the bits from pos on.
func rawParts[T Lane](dst []T, src []byte, pos uint, centre T) (end uint, ok bool) {
	worst := uint64(0)
	for i, length := range dst {
		n := uint64(length)
		worst = max(worst, n)
		if n <= 1 {
			dst[i] = centre - T(n)
			continue
		}
		raw := uint(n-1) & 63
		u := uint64(1) << raw
		if raw <= 56 {
			u |= window(src, pos) & (u - 1)
		} else {
			u |= bits64(src, pos, raw)
		}
		pos += raw
		dst[i] = T(Unzigzag(u)) + centre
	}
	return pos, worst <= 64
}
