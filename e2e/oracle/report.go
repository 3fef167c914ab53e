package oracle

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// Failure is a difference and the smallest question that shows one.
type Failure struct {
	Verdict      Verdict
	Question     Question
	Difference   *Difference
	Minimal      Question
	MinimalWrong *Difference
	States       []string
	Group        string
}

func (f Failure) String() string {
	out := fmt.Sprintf("[%s] %s\n  %s\n", f.Group, f.Minimal, f.MinimalWrong)
	if len(f.States) > 0 {
		out += fmt.Sprintf("  differs in the states %s\n", strings.Join(f.States, ", "))
	}
	if f.Verdict != Different {
		out += fmt.Sprintf("  verdict: %s\n", f.Verdict)
	}
	out += "  " + f.Minimal.Env() + "\n"
	if f.Question != f.Minimal {
		out += fmt.Sprintf("  shrunk from %s\n  where %s\n", f.Question, f.Difference)
	}
	return out
}

// Tally counts verdicts and keeps the differences. Every failure is written to
// Out, if that is not nil, as it comes.
type Tally struct {
	Counts   [verdicts]int
	Failures []Failure
	Out      io.Writer
	// shrunk bounds what is spent on runs where everything fails.
	shrunk int
}

// maxShrunk is how many differences of one run are shrunk.
const maxShrunk = 300

// Add asks a question and counts the verdict.
func (t *Tally) Add(ctx context.Context, j *Judge, q Question) Verdict {
	v, d := j.Ask(ctx, q)
	t.Counts[v]++
	if d == nil {
		return v
	}
	f := Failure{Verdict: v, Question: q, Difference: d, Minimal: q, MinimalWrong: d}
	if v == Different && t.shrunk < maxShrunk {
		t.shrunk++
		f.Minimal, f.MinimalWrong, f.States = j.Shrink(ctx, q, d)
	}
	f.Group = Group(parser.NewParser(parserOptionsOf(q.Features)), f.Minimal.Text) + ", " + f.MinimalWrong.Kind
	t.Failures = append(t.Failures, f)
	if t.Out != nil {
		fmt.Fprintln(t.Out, f)
	}
	return v
}

// Merge adds what another tally counted.
func (t *Tally) Merge(o *Tally) {
	for v, n := range o.Counts {
		t.Counts[v] += n
	}
	t.Failures = append(t.Failures, o.Failures...)
}

// Failed tells whether there is a difference; a strict judge also takes answers
// that flicker or drift for such.
func (t *Tally) Failed(strict bool) bool {
	return t.Counts[Different] > 0 || strict && t.Counts[Flickering]+t.Counts[Drifting] > 0
}

// Summary is the counts in one line.
func (t *Tally) Summary() string {
	var parts []string
	for v, n := range t.Counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, Verdict(v)))
	}
	return strings.Join(parts, "; ")
}

// Report tells the groups of differences, and the first of them in full: the
// shortest of each group before the others.
func (t *Tally) Report(most int) string {
	groups := map[string][]Failure{}
	for _, f := range t.Failures {
		groups[f.Group] = append(groups[f.Group], f)
	}
	names := slices.Collect(maps.Keys(groups))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(len(groups[b])-len(groups[a]), strings.Compare(a, b))
	})
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintf(&out, "%5d %s\n", len(groups[name]), name)
		slices.SortStableFunc(groups[name], func(a, b Failure) int { return len(a.Minimal.Text) - len(b.Minimal.Text) })
	}
	for round := 0; most > 0 && round < len(t.Failures); round++ {
		for _, name := range names {
			if round < len(groups[name]) && most > 0 {
				most--
				fmt.Fprintf(&out, "\n%s", groups[name][round])
			}
		}
	}
	return out.String()
}
