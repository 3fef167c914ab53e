package plan

import (
	"math"

	"github.com/prometheus/prometheus/promql/parser"
)

// Fold computes scalars that are constants: arithmetic, comparisons, signs, and
// functions of constants.
func Fold(n Node, _ Config) Node { return Rewrite(n, foldOne) }

func foldOne(n Node) Node {
	switch n := n.(type) {
	case *Once:
		if v, ok := n.Child.(*Number); ok {
			return v
		}
	case *Minus:
		if v, ok := n.Child.(*Number); ok {
			return &Number{n.Pos, -v.Value}
		}
	case *Binary:
		l, lok := n.Left.(*Number)
		r, rok := n.Right.(*Number)
		if !lok || !rok {
			return n
		}
		if v, ok := ScalarOp(n.Op, l.Value, r.Value); ok {
			return &Number{n.Pos, v}
		}
	case *Call:
		if v, ok := foldCall(n); ok {
			return &Number{n.Pos, v}
		}
	}
	return n
}

func foldCall(n *Call) (float64, bool) {
	args := make([]float64, len(n.Args))
	for i := range n.Args {
		v, ok := n.Args[i].(*Number)
		if !ok {
			return 0, false
		}
		args[i] = v.Value
	}
	switch {
	case n.Func == "pi" && len(args) == 0:
		return math.Pi, true
	case n.Func == "max_of" && len(args) == 2:
		return math.Max(args[0], args[1]), true
	case n.Func == "min_of" && len(args) == 2:
		return math.Min(args[0], args[1]), true
	}
	return 0, false
}

// ScalarOp applies a binary operator to two scalars (scalarBinop of Prometheus'
// promql/engine.go); ok is false if it is none for scalars.
func ScalarOp(op parser.ItemType, l, r float64) (v float64, ok bool) {
	switch op {
	case parser.ADD:
		return l + r, true
	case parser.SUB:
		return l - r, true
	case parser.MUL:
		return float64(l * r), true
	case parser.DIV:
		return l / r, true
	case parser.POW:
		return math.Pow(l, r), true
	case parser.MOD:
		return math.Mod(l, r), true
	case parser.ATAN2:
		return math.Atan2(l, r), true
	case parser.EQLC:
		return truth(l == r), true
	case parser.NEQ:
		return truth(l != r), true
	case parser.GTR:
		return truth(l > r), true
	case parser.LSS:
		return truth(l < r), true
	case parser.GTE:
		return truth(l >= r), true
	case parser.LTE:
		return truth(l <= r), true
	}
	return 0, false
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
