package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// borrowed are the names of Prometheus' promql that the product may use: what
// answers and errors are made of. All else there evaluates or prepares queries,
// and is the oracle of tests alone.
var borrowed = []string{
	"Matrix", "Vector", "Scalar", "String", "Series", "Sample", "FPoint", "HPoint", "Result",
	"ErrQueryTimeout", "ErrQueryCanceled", "ErrTooManySamples", "ErrStorage",
}

const evaluator = "github.com/prometheus/prometheus/promql"

// TestEvaluator holds that no code but tests calls Prometheus' query engine.
func TestEvaluator(t *testing.T) {
	product, tests := 0, 0
	sources(t, func(s *source) {
		for _, name := range namesOf(s.file, evaluator) {
			if s.isTest() || isTestHelper(s.dir()) || strings.HasPrefix(s.name, "e2e/") {
				tests++
				continue
			}
			product++
			if !slices.Contains(borrowed, name) {
				t.Errorf("%s uses %s.%s: only tests may", s.name, evaluator, name)
			}
		}
	})
	if product == 0 || tests == 0 {
		t.Errorf("%d uses in the product, %d in tests: is this looking at the right files?", product, tests)
	}
}

// namesOf returns what a file uses of a package.
func namesOf(f *ast.File, pkg string) (names []string) {
	local := ""
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != pkg {
			continue
		}
		local = path.Base(pkg)
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && local != "" && x.Name == local {
				names = append(names, s.Sel.Name)
			}
		}
		return true
	})
	return names
}
