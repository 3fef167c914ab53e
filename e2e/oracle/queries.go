package oracle

import (
	"fmt"
	"maps"
	oldrand "math/rand"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cortexproject/promqlsmith"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Source writes random questions about some data.
type Source struct {
	*rand.Rand
	grammar *grammar
	smith   *promqlsmith.PromQLSmith
	corpus  []string
	parser  parser.Parser
	states  []string
	turn    int
}

// NewSource returns a source that takes expressions of its own grammar, of
// promqlsmith, and of the corpus with its names replaced by those of the data.
func NewSource(seed uint64, data []Series, corpus, states []string) *Source {
	s := &Source{Rand: rand.New(rand.NewPCG(seed, 2)), corpus: corpus, states: states, parser: parser.NewParser(parserOptionsOf("all"))}
	s.grammar = newGrammar(s.Rand, data)
	sets := make([]labels.Labels, len(data))
	for i, d := range data {
		sets[i] = d.Labels
	}
	s.smith = promqlsmith.New(oldrand.New(oldrand.NewSource(int64(seed))), sets,
		promqlsmith.WithEnableOffset(true), promqlsmith.WithEnableAtModifier(true), promqlsmith.WithEnableVectorMatching(true),
		promqlsmith.WithAtModifierMaxTimestamp(DataEnd), promqlsmith.WithEnabledFunctions(smithFunctions()), promqlsmith.WithEnabledAggrs(smithAggregations()))
	return s
}

// smithFunctions are all functions but one that promqlsmith adds and no engine has.
func smithFunctions() []*parser.Function {
	var out []*parser.Function
	for _, name := range slices.Sorted(maps.Keys(parser.Functions)) {
		if name != "holt_winters" {
			out = append(out, parser.Functions[name])
		}
	}
	return out
}

func smithAggregations() []parser.ItemType {
	return []parser.ItemType{
		parser.SUM, parser.AVG, parser.COUNT, parser.MIN, parser.MAX, parser.GROUP, parser.STDDEV, parser.STDVAR, parser.TOPK,
		parser.BOTTOMK, parser.COUNT_VALUES, parser.QUANTILE, parser.LIMITK, parser.LIMIT_RATIO,
	}
}

// Next is a random question.
func (s *Source) Next() Question {
	q := s.Ask("")
	for {
		switch n := s.IntN(13); {
		case n >= 10:
			s.turn++
			q.Text = s.grammar.inTurn(s.turn)
		case n < 2:
			q.Text = s.smithText(q.Step == 0)
		case n < 4:
			q.Text = s.Mutate(pick(s.Rand, s.corpus...))
		case n < 5 && q.Step == 0:
			q.Text = s.grammar.matrix(3)
		case n < 6:
			q.Text = s.grammar.scalar(3)
		default:
			q.Text = s.grammar.vector(1 + s.IntN(4))
		}
		if len(q.Text) > 2000 {
			continue
		}
		if e, err := s.parser.ParseExpr(q.Text); err == nil && (q.Step == 0 || e.Type() == parser.ValueTypeVector || e.Type() == parser.ValueTypeScalar) {
			return q
		} else if s.grammar.one(100) { // errors are answers too
			return q
		}
	}
}

// Ask dresses a text with a random grid, features and state.
func (s *Source) Ask(text string) Question {
	q := Question{Text: text, State: pick(s.Rand, s.states...), Features: "all"}
	if s.IntN(5) < 2 {
		q.Features = pick(s.Rand, FeatureSets()...).Name
	}
	if s.IntN(10) == 0 {
		q.Lookback = pick(s.Rand, time.Millisecond, 15*time.Second, time.Minute, 2*time.Minute, 20*time.Minute, time.Hour)
	}
	q.Start = DataStart + s.Int64N(DataEnd-DataStart)
	if s.IntN(15) == 0 { // before, after and about the ends of the data
		q.Start = pick(s.Rand, DataStart, DataEnd) - 6*60_000 + s.Int64N(12*60_000)
	}
	if s.IntN(3) > 0 { // meet the scrapes
		q.Start -= q.Start % 15_000
	}
	if s.IntN(5) < 2 {
		return q
	}
	q.Step = pick(s.Rand, []int64{1000, 7_000, 15_000, 15_000, 30_000, 60_000, 60_000, 97_000, 300_000, 600_000, 3600_000}...)
	n := pick(s.Rand, []int64{1, 1, 2, 3, 10, 10, 30, 30, 100}...)
	n = min(n, 1+90*60_000/q.Step)
	if s.IntN(2) == 0 && n > 2 { // cover all the data
		q.Start = DataStart - 5*60_000 + s.Int64N(60_000)
	}
	q.End = q.Start + (n-1)*q.Step + s.Int64N(q.Step)
	return q
}

// smithText is an expression of promqlsmith, which now and then builds none.
func (s *Source) smithText(instant bool) string {
	for range 100 {
		if text := func() (text string) {
			defer func() {
				if p := recover(); p != nil { // an argument that it left out
					text = ""
				}
			}()
			e := s.smith.WalkRangeQuery()
			if instant {
				e = s.smith.WalkInstantQuery()
			}
			return intoData(e).String()
		}(); text != "" {
			return text
		}
	}
	panic("promqlsmith builds no expression")
}

// intoData moves the times of @ modifiers to where data are: promqlsmith begins at 1970.
func intoData(e parser.Expr) parser.Expr {
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok && vs.Timestamp != nil {
			*vs.Timestamp = DataStart + *vs.Timestamp%(DataEnd-DataStart)
		}
		return nil
	})
	return e
}

// Mutate replaces the names of metrics and labels in an expression by those of the data.
func (s *Source) Mutate(text string) string {
	e, err := s.parser.ParseExpr(text)
	if err != nil {
		return text
	}
	metrics, names := map[string]string{}, map[string]string{}
	label := func(name string) string {
		if name == labels.MetricName || name == labels.BucketLabel {
			return name
		}
		if names[name] == "" {
			names[name] = pick(s.Rand, "job", "instance", "code", pick(s.Rand, s.grammar.labels...))
		}
		return names[name]
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			s.mutateSelector(n, metrics, label)
		case *parser.AggregateExpr:
			for i, name := range n.Grouping {
				n.Grouping[i] = label(name)
			}
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				n.VectorMatching.MatchingLabels = mapped(n.VectorMatching.MatchingLabels, label)
				n.VectorMatching.Include = mapped(n.VectorMatching.Include, label)
			}
		}
		return nil
	})
	return e.String()
}

func mapped(in []string, f func(string) string) []string {
	var out []string
	for _, name := range in {
		if to := f(name); !slices.Contains(out, to) {
			out = append(out, to)
		}
	}
	return out
}

func (s *Source) mutateSelector(n *parser.VectorSelector, metrics map[string]string, label func(string) string) {
	if n.BypassEmptyMatcherCheck { // the second argument of info
		return
	}
	name := n.Name
	if metrics[name] == "" {
		metrics[name] = s.grammar.metric()
	}
	n.Name = metrics[name]
	kept := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, n.Name)}
	for _, m := range n.LabelMatchers {
		if m.Name == labels.MetricName || s.IntN(2) == 0 {
			continue
		}
		to := label(m.Name)
		kind := m.Type
		if to == labels.BucketLabel && m.Name != to {
			continue
		}
		v := pick(s.Rand, append(s.grammar.values[to], "")...)
		if m, err := labels.NewMatcher(kind, to, v); err == nil { // +Inf is no expression
			kept = append(kept, m)
		}
	}
	n.LabelMatchers = kept
}

// parseGrid reads the grid that Question.Env wrote.
func parseGrid(q *Question, grid string) error {
	if _, err := fmt.Sscanf(grid, "%d,%d,%d", &q.Start, &q.End, &q.Step); err == nil {
		return nil
	}
	q.Step = 0
	_, err := fmt.Sscanf(grid, "%d", &q.Start)
	q.End = q.Start
	return err
}
