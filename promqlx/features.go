package promqlx

import (
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/features"
)

// FeatureKind says what a name given to --enable-feature means.
type FeatureKind int

const (
	// FeatureUnknown is a name Prometheus does not know either.
	FeatureUnknown FeatureKind = iota
	// FeatureEngine is a name that changes how queries are parsed or evaluated.
	FeatureEngine
	// FeatureAlways is a name for what is always on: giving it changes nothing.
	FeatureAlways
	// FeatureElsewhere is a name Prometheus knows that is not about queries, or
	// not offered here; giving it changes nothing in this package.
	FeatureElsewhere
)

// The names of FeatureEngine, as Prometheus 3.14 spells them.
const (
	featExperimentalFunctions = "promql-experimental-functions"
	featBinopFill             = "promql-binop-fill-modifiers"
	featUnquotedUTF8          = "promql-unquoted-utf8-names"
	featPerStepStats          = "promql-per-step-stats"
	featDelayedNameRemoval    = "promql-delayed-name-removal"
	featStartTimestamps       = "use-start-timestamps"
	featTypeAndUnitLabels     = "type-and-unit-labels"
)

// LookupFeature says what one feature name means to an Engine.
func LookupFeature(name string) FeatureKind {
	switch name {
	case featExperimentalFunctions, featBinopFill, featUnquotedUTF8, featPerStepStats,
		featDelayedNameRemoval, featStartTimestamps, featTypeAndUnitLabels:
		return FeatureEngine
	case "promql-at-modifier", "promql-negative-offset", "promql-duration-expr",
		"promql-extended-range-selectors", "native-histograms", "ooo-native-histograms",
		"exemplar-storage":
		return FeatureAlways
	case "memory-snapshot-on-shutdown", "extra-scrape-metrics", "metadata-wal-records",
		"auto-reload-config", "concurrent-rule-eval", "created-timestamp-zero-ingestion",
		"xor2-encoding", "histograms-st-encoding", "st-synthesis", "st-storage",
		"delayed-compaction", "old-ui", "otlp-deltatocumulative", "otlp-native-delta-ingestion",
		"openmetrics2", "zstd-scrape", "use-uncached-io", "fast-startup", "search-api", "query-cost":
		return FeatureElsewhere
	}
	return FeatureUnknown
}

// featureSet is the set of enabled names.
type featureSet map[string]bool

func parseFeatures(names []string) featureSet {
	set := featureSet{}
	for _, list := range names {
		for name := range strings.SplitSeq(list, ",") {
			set[strings.TrimSpace(name)] = true
		}
	}
	return set
}

func (s featureSet) parserOptions() parser.Options {
	return parser.Options{
		EnableExperimentalFunctions: s[featExperimentalFunctions],
		EnableBinopFillModifiers:    s[featBinopFill],
		EnableUnquotedUTF8Names:     s[featUnquotedUTF8],
	}
}

// register tells what evaluation understands, in the words of Prometheus'
// engine; the parser tells the rest.
func (s featureSet) register(r features.Collector) {
	r.Enable(features.PromQL, "at_modifier")
	r.Enable(features.PromQL, "negative_offset")
	r.Enable(features.PromQL, "per_query_lookback_delta")
	r.Enable(features.PromQL, "subqueries")
	r.Set(features.PromQL, "per_step_stats", s[featPerStepStats])
	r.Set(features.PromQL, "delayed_name_removal", s[featDelayedNameRemoval])
	r.Set(features.PromQL, "type_and_unit_labels", s[featTypeAndUnitLabels])
}
