package oracle

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/e2e/corpus"
	"github.com/varvedb/varve/promqlx"
)

const (
	maxSamples   = 50_000_000
	queryTimeout = 20 * time.Second
)

// Question is one query.
type Question struct {
	Text string
	// Start, End and Step are milliseconds. A Step of 0 asks for Start alone.
	Start, End, Step int64
	// Lookback replaces the default when positive.
	Lookback time.Duration
	// Features is the name of a set of FeatureSets.
	Features string
	// State is the name of a state of Stores.
	State string
	// Data is the seed of the data asked about.
	Data uint64
}

func (q Question) String() string {
	grid := fmt.Sprintf("instant at %d", q.Start)
	if q.Step != 0 {
		grid = fmt.Sprintf("range from %d to %d step %d", q.Start, q.End, q.Step)
	}
	if q.Lookback != 0 {
		grid += fmt.Sprintf(" lookback %s", q.Lookback)
	}
	return fmt.Sprintf("%s\n  %s, features %s, state %s", q.Text, grid, q.Features, q.State)
}

// Env is the environment that has TestOne ask the question alone.
func (q Question) Env() string {
	grid := fmt.Sprint(q.Start)
	if q.Step != 0 {
		grid = fmt.Sprintf("%d,%d,%d", q.Start, q.End, q.Step)
	}
	out := fmt.Sprintf("ORACLE_QUERY='%s' ORACLE_GRID=%s ORACLE_FEATURES=%s ORACLE_STATE=%s",
		strings.ReplaceAll(q.Text, "'", `'"'"'`), grid, q.Features, q.State)
	if q.Data > 1 {
		out += fmt.Sprintf(" ORACLE_DATA=%d", q.Data)
	}
	if q.Lookback != 0 {
		out += " ORACLE_LOOKBACK=" + q.Lookback.String()
	}
	return out
}

// At is the same question for one time alone.
func (q Question) At(t int64) Question {
	q.Start, q.End, q.Step = t, t, 0
	return q
}

// Answer is what came of a Question. It shares no memory with an engine.
type Answer struct {
	Err             error
	Value           parser.Value
	Warnings, Infos []string // sorted
}

// FeatureSet is a choice of feature names.
type FeatureSet struct {
	Name  string
	Names []string
}

// FeatureSets is the matrix of features.
func FeatureSets() []FeatureSet {
	syntax := []string{"promql-experimental-functions", "promql-binop-fill-modifiers", "promql-unquoted-utf8-names"}
	with := func(names ...string) []string { return append(slices.Clone(syntax), names...) }
	return []FeatureSet{
		{"all", with("promql-delayed-name-removal", "use-start-timestamps", "promql-per-step-stats")},
		{"none", nil},
		{"syntax", with()},
		{"delayed", with("promql-delayed-name-removal")},
		{"starts", with("use-start-timestamps")},
		{"typed", with("promql-delayed-name-removal", "use-start-timestamps", "type-and-unit-labels")},
	}
}

// Engines are one engine for each set of features.
type Engines map[string]promql.QueryEngine

// Ours returns promqlx's engines.
func Ours() (Engines, error) {
	all := Engines{}
	for _, set := range FeatureSets() {
		e, err := promqlx.New(promqlx.Options{MaxSamples: maxSamples, Timeout: queryTimeout, EnabledFeatures: set.Names})
		if err != nil {
			return nil, err
		}
		all[set.Name] = corpus.NewEngine(e)
	}
	return all, nil
}

// Oracles returns Prometheus' engines.
func Oracles() Engines {
	all := Engines{}
	for _, set := range FeatureSets() {
		all[set.Name] = promql.NewEngine(promql.EngineOpts{
			MaxSamples:               maxSamples,
			Timeout:                  queryTimeout,
			LookbackDelta:            promqlx.DefaultLookbackDelta,
			NoStepSubqueryIntervalFn: func(int64) int64 { return promqlx.DefaultSubqueryStep.Milliseconds() },
			EnableAtModifier:         true,
			EnableNegativeOffset:     true,
			EnablePerStepStats:       slices.Contains(set.Names, "promql-per-step-stats"),
			EnableDelayedNameRemoval: slices.Contains(set.Names, "promql-delayed-name-removal"),
			EnableTypeAndUnitLabels:  slices.Contains(set.Names, "type-and-unit-labels"),
			UseStartTimestamps:       slices.Contains(set.Names, "use-start-timestamps"),
			Parser:                   parser.NewParser(ParserOptions(set.Names)),
		})
	}
	return all
}

// ParserOptions are those of a set of features.
func ParserOptions(names []string) parser.Options {
	return parser.Options{
		EnableExperimentalFunctions: slices.Contains(names, "promql-experimental-functions"),
		EnableBinopFillModifiers:    slices.Contains(names, "promql-binop-fill-modifiers"),
		EnableUnquotedUTF8Names:     slices.Contains(names, "promql-unquoted-utf8-names"),
	}
}

// Ask has one of the engines answer. An engine that panics has answered with an error.
func (e Engines) Ask(ctx context.Context, from storage.Queryable, q Question) (a Answer) {
	return Run(ctx, e[q.Features], from, q)
}

// Run has an engine answer a question, whatever the question says of features.
func Run(ctx context.Context, engine promql.QueryEngine, from storage.Queryable, q Question) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = Answer{Err: fmt.Errorf("PANIC %v\n%s", p, debug.Stack())}
		}
	}()
	opts := promql.NewPrometheusQueryOpts(false, q.Lookback, nil)
	var qry promql.Query
	var err error
	if q.Step == 0 {
		qry, err = engine.NewInstantQuery(ctx, from, opts, q.Text, time.UnixMilli(q.Start))
	} else {
		qry, err = engine.NewRangeQuery(ctx, from, opts, q.Text, time.UnixMilli(q.Start), time.UnixMilli(q.End), time.Duration(q.Step)*time.Millisecond)
	}
	if err != nil {
		return Answer{Err: err}
	}
	defer qry.Close()
	res := qry.Exec(ctx)
	return answerOf(res, q.Text)
}

func answerOf(res *promql.Result, text string) Answer {
	a := Answer{Err: res.Err, Value: copyValue(res.Value)}
	a.Warnings, a.Infos = res.Warnings.AsStrings(text, 0, 0)
	sort.Strings(a.Warnings)
	sort.Strings(a.Infos)
	if a.Err != nil {
		a.Value = nil
	}
	return a
}

// copyValue copies what Query.Close takes back.
func copyValue(v parser.Value) parser.Value {
	switch v := v.(type) {
	case promql.Matrix:
		out := make(promql.Matrix, len(v))
		for i, s := range v {
			out[i] = promql.Series{Metric: copyLabels(s.Metric), Floats: slices.Clone(s.Floats), Histograms: slices.Clone(s.Histograms)}
			for j, p := range out[i].Histograms {
				if p.H != nil {
					out[i].Histograms[j].H = p.H.Copy()
				}
			}
		}
		return out
	case promql.Vector:
		out := slices.Clone(v)
		for i, s := range out {
			if out[i].Metric = copyLabels(s.Metric); s.H != nil {
				out[i].H = s.H.Copy()
			}
		}
		return out
	}
	return v
}

func copyLabels(ls labels.Labels) labels.Labels {
	b := labels.NewScratchBuilder(ls.Len())
	ls.Range(func(l labels.Label) { b.Add(strings.Clone(l.Name), strings.Clone(l.Value)) })
	return b.Labels()
}
