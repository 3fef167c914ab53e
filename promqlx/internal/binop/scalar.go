package binop

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/prometheus/prometheus/promql/parser"
)

// Scalars combines two scalars by step, as scalarBinop of Prometheus'
// promql/engine.go; comparisons give 1 or 0. out may be l or r.
func Scalars(op parser.ItemType, l, r, out []float64) {
	for lo := 0; lo < len(out); lo += 64 {
		hi := min(lo+64, len(out))
		if op.IsComparisonOperator() {
			truths(out[lo:hi], compare(op, l[lo:hi], r[lo:hi]))
		} else {
			arithmetic(op, out[lo:hi], l[lo:hi], r[lo:hi], ^uint64(0))
		}
	}
}

// arithmetic computes out of l and r, which are as long, at most 64 long, at
// the steps of in; what it leaves at others is not defined. out may be l or r.
func arithmetic(op parser.ItemType, out, l, r []float64, in uint64) {
	l, r = l[:len(out)], r[:len(out)]
	switch op {
	case parser.ADD:
		for i := range out {
			out[i] = l[i] + r[i]
		}
	case parser.SUB:
		for i := range out {
			out[i] = l[i] - r[i]
		}
	case parser.MUL:
		for i := range out {
			out[i] = l[i] * r[i]
		}
	case parser.DIV:
		for i := range out {
			out[i] = l[i] / r[i]
		}
	default:
		for in &= ^uint64(0) >> (64 - len(out)); in != 0; in &= in - 1 {
			i := bits.TrailingZeros64(in)
			out[i] = function(op, l[i], r[i])
		}
	}
}

// function computes the operators that are functions.
func function(op parser.ItemType, l, r float64) float64 {
	switch op {
	case parser.POW:
		return math.Pow(l, r)
	case parser.MOD:
		return math.Mod(l, r)
	case parser.ATAN2:
		return math.Atan2(l, r)
	}
	panic(fmt.Sprintf("binop: operator %q has no numbers", op))
}

// compare returns at which of at most 64 steps the comparison holds.
func compare(op parser.ItemType, l, r []float64) (holds uint64) {
	r = r[:len(l)]
	switch op {
	case parser.EQLC:
		for i, a := range l {
			holds |= bit(a == r[i]) << i
		}
	case parser.NEQ:
		for i, a := range l {
			holds |= bit(a != r[i]) << i
		}
	case parser.GTR:
		for i, a := range l {
			holds |= bit(a > r[i]) << i
		}
	case parser.LSS:
		for i, a := range l {
			holds |= bit(a < r[i]) << i
		}
	case parser.GTE:
		for i, a := range l {
			holds |= bit(a >= r[i]) << i
		}
	case parser.LTE:
		for i, a := range l {
			holds |= bit(a <= r[i]) << i
		}
	default:
		panic(fmt.Sprintf("binop: operator %q does not compare", op))
	}
	return holds
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// truths puts 1 where it holds and 0 where not.
func truths(out []float64, holds uint64) {
	for i := range out {
		out[i] = float64(holds >> i & 1)
	}
}

// dropsName tells whether an operator gives something else than the metric it
// is given (changesMetricSchema of Prometheus' engine).
func dropsName(op parser.ItemType) bool {
	switch op {
	case parser.ADD, parser.SUB, parser.DIV, parser.MUL, parser.POW, parser.MOD, parser.ATAN2:
		return true
	}
	return false
}

// trims tells whether an operator trims histograms.
func trims(op parser.ItemType) bool { return op == parser.TRIM_UPPER || op == parser.TRIM_LOWER }
