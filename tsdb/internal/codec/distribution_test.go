package codec

import (
	"math"
	"slices"
)

// The distributions the compiled tables were made for. Tables are frozen: this
// is how they came to be, and a test makes them again.

// distribution is the probability of the residuals -7 to 7; what is missing to
// 1 escapes.
type distribution [2*symbolMax + 1]float64

func gauss(sigma float64) distribution {
	var d distribution
	phi := func(x float64) float64 { return 0.5 * (1 + math.Erf(x/sigma/math.Sqrt2)) }
	for i := range d {
		r := float64(i - symbolMax)
		d[i] = phi(r+0.5) - phi(r-0.5)
	}
	return d
}

// uniform is flat over width symbols around zero.
func uniform(width float64) distribution {
	var d distribution
	for i := range d {
		r := float64(i - symbolMax)
		d[i] = max(0, min(r+0.5, width/2)-max(r-0.5, -width/2)) / width
	}
	return d
}

// twoSided falls by the factor down per step below zero, by up above it.
func twoSided(zero, down, up float64) distribution {
	var d distribution
	sum := 0.0
	for i := range d {
		r := i - symbolMax
		if r < 0 {
			d[i] = math.Pow(down, float64(-r))
		} else {
			d[i] = math.Pow(up, float64(r))
		}
		if r != 0 {
			sum += d[i]
		}
	}
	if zero == 0 {
		for i := range d {
			d[i] /= sum + 1
		}
		return d
	}
	for i := range d {
		d[i] *= (1 - zero) / sum
	}
	d[symbolMax] = zero
	return d
}

func laplace(b float64) distribution { f := math.Exp(-1 / b); return twoSided(0, f, f) }

func distributions() []distribution {
	var out []distribution
	for _, s := range []float64{0.30, 0.38, 0.47, 0.58, 0.70, 0.85, 1.0, 1.08, 1.2, 1.4, 1.65, 1.95, 2.3, 2.7, 3.2} {
		out = append(out, gauss(s))
	}
	for _, b := range []float64{0.2, 0.28, 0.38, 0.5, 0.65, 0.85, 1.1, 1.45, 1.9, 2.5} {
		out = append(out, laplace(b))
	}
	for _, p := range []float64{0.5, 0.65, 0.8, 0.9, 0.95} {
		f := math.Exp(-1 / 1.5)
		out = append(out, twoSided(p, f, f))
	}
	for _, p := range []float64{0.6, 0.8, 0.9} {
		f := math.Exp(-1 / 4.0)
		out = append(out, twoSided(p, f, f))
	}
	for _, f := range [][2]float64{{0.5, 0.1}, {0.5, 0.25}, {0.65, 0.2}, {0.35, 0.05}} {
		out = append(out, twoSided(0, f[0], f[1]), twoSided(0, f[1], f[0]))
	}
	for _, up := range []float64{0.3, 0.5, 0.7} {
		out = append(out, twoSided(0, 0.02, up))
	}
	for width := 9.0; width <= 15; width++ {
		out = append(out, uniform(width))
	}
	return out
}

// codeLengths are those of a Huffman code of at most maxCode bits; a weight of
// zero gets no code.
func codeLengths(weights []float64) []byte {
	type node struct {
		w     float64
		order int
		leafs []int
	}
	out := make([]byte, len(weights))
	var heap []node
	for i, w := range weights {
		if w > 0 {
			heap = append(heap, node{w, i, []int{i}})
		}
	}
	next := len(weights)
	for len(heap) > 1 {
		slices.SortFunc(heap, func(a, b node) int {
			switch {
			case a.w < b.w, a.w == b.w && a.order < b.order:
				return -1
			}
			return 1
		})
		a, b := heap[0], heap[1]
		leafs := append(slices.Clone(a.leafs), b.leafs...)
		for _, l := range leafs {
			out[l]++
		}
		heap = append([]node{{a.w + b.w, next, leafs}}, heap[2:]...)
		next++
	}
	return out
}

const escapeFloor = 1.0 / 2048

func (d distribution) escape() float64 {
	rest := 1.0
	for _, p := range d {
		rest -= p
	}
	return max(rest, escapeFloor)
}

func (d distribution) singleLengths() []byte {
	w := append([]float64(nil), d[:]...)
	for i := range w {
		w[i] = max(w[i], 1.0/8192)
	}
	return codeLengths(append(w, d.escape()))
}

func (d distribution) pairLengths() []byte {
	var w []float64
	rest := 0.0
	for _, a := range d {
		for _, b := range d {
			p := a * b
			if p < 1.0/20000 {
				rest += p
				p = 0
			}
			w = append(w, p)
		}
	}
	return codeLengths(append(w, max(rest+2*d.escape(), escapeFloor)))
}
