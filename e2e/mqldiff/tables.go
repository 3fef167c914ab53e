package mqldiff

// An argument shape is a list of words: "r" is the rollup or series argument,
// the others name what grammar.argument makes.
type function struct {
	name  string
	shape string
	exact bool // makes integers and multiples of 0.25 of such
}

// rollups are all rollup functions, with the shapes their arguments may have.
var rollups = []function{
	{"absent_over_time", "r", true}, {"aggr_over_time", "rollupnames r", false}, {"ascent_over_time", "r", true},
	{"avg_over_time", "r", false}, {"changes", "r", true}, {"changes_prometheus", "r", true},
	{"count_eq_over_time", "r limit", true}, {"count_gt_over_time", "r limit", true}, {"count_le_over_time", "r limit", true},
	{"count_ne_over_time", "r limit", true}, {"count_over_time", "r", true}, {"count_values_over_time", "newlabel r", true},
	{"decreases_over_time", "r", true}, {"default_rollup", "r", true}, {"delta", "r", true}, {"delta_prometheus", "r", true},
	{"deriv", "r", false}, {"deriv_fast", "r", false}, {"descent_over_time", "r", true}, {"distinct_over_time", "r", true},
	{"duration_over_time", "r interval", false}, {"first_over_time", "r", true}, {"geomean_over_time", "r", false},
	{"histogram_over_time", "r", true}, {"hoeffding_bound_lower", "phi r", false}, {"hoeffding_bound_upper", "phi r", false},
	{"holt_winters", "r factor factor", false}, {"idelta", "r", true}, {"ideriv", "r", false}, {"increase", "r", true},
	{"increase_prometheus", "r", true}, {"increase_pure", "r", true}, {"increases_over_time", "r", true},
	{"integrate", "r", false}, {"irate", "r", false}, {"lag", "r", false}, {"last_over_time", "r", true},
	{"lifetime", "r", false}, {"mad_over_time", "r", false}, {"max_over_time", "r", true}, {"median_over_time", "r", false},
	{"min_over_time", "r", true}, {"mode_over_time", "r", true}, {"outlier_iqr_over_time", "r", true},
	{"predict_linear", "r seconds", false}, {"present_over_time", "r", true}, {"quantile_over_time", "phi r", false},
	{"quantiles_over_time", "newlabel phi phi r", false}, {"quantiles_over_time", "newlabel phi phi phi phi r", false}, {"range_over_time", "r", true}, {"rate", "r", false},
	{"rate_over_sum", "r", false}, {"rate_prometheus", "r", false}, {"resets", "r", true}, {"rollup", "r rolluptag", false},
	{"rollup_candlestick", "r candletag", true}, {"rollup_delta", "r rolluptag", false}, {"rollup_deriv", "r rolluptag", false},
	{"rollup_increase", "r rolluptag", false}, {"rollup_rate", "r rolluptag", false}, {"rollup_scrape_interval", "r rolluptag", false},
	{"scrape_interval", "r", false}, {"share_eq_over_time", "r limit", false}, {"share_gt_over_time", "r limit", false},
	{"share_le_over_time", "r limit", false}, {"stale_samples_over_time", "r", true}, {"stddev_over_time", "r", false},
	{"stdvar_over_time", "r", false}, {"sum2_over_time", "r", false}, {"sum_eq_over_time", "r limit", true},
	{"sum_gt_over_time", "r limit", true}, {"sum_le_over_time", "r limit", true}, {"sum_over_time", "r", true},
	{"tfirst_over_time", "r", false}, {"timestamp", "r", false}, {"timestamp_with_name", "r", false},
	{"tlast_change_over_time", "r", false}, {"tlast_over_time", "r", false}, {"tmax_over_time", "r", false},
	{"tmin_over_time", "r", false}, {"zscore_over_time", "r", false},
}

// common are asked more often, for their paths of their own.
var common = []function{
	{"rate", "r", false}, {"increase", "r", true}, {"avg_over_time", "r", false}, {"sum_over_time", "r", true},
	{"max_over_time", "r", true}, {"min_over_time", "r", true}, {"count_over_time", "r", true}, {"default_rollup", "r", true},
	{"last_over_time", "r", true}, {"delta", "r", true}, {"irate", "r", false},
}

// transforms are functions of series or numbers but of labels, sorting and histograms.
var transforms = []function{
	{"abs", "r", true}, {"absent", "r", true}, {"acos", "r", false}, {"acosh", "r", false}, {"asin", "r", false}, {"asinh", "r", false},
	{"atan", "r", false}, {"atanh", "r", false}, {"bitmap_and", "r bits", true}, {"bitmap_or", "r bits", true},
	{"bitmap_xor", "r bits", true}, {"ceil", "r", true}, {"clamp", "r scalar scalar", true}, {"clamp_max", "r scalar", true},
	{"clamp_min", "r scalar", true}, {"cos", "r", false}, {"cosh", "r", false}, {"day_of_month", "time", true},
	{"day_of_week", "time", true}, {"day_of_year", "time", true}, {"days_in_month", "time", true}, {"deg", "r", false},
	{"drop_common_labels", "r", true}, {"drop_empty_series", "r", true}, {"end", "", true}, {"exp", "r", false}, {"floor", "r", true},
	{"hour", "time", true}, {"interpolate", "r", false}, {"keep_last_value", "r", true}, {"keep_next_value", "r", true},
	{"ln", "r", false}, {"log10", "r", false}, {"log2", "r", false}, {"minute", "time", true}, {"month", "time", true},
	{"pi", "", false}, {"rad", "r", false}, {"rand", "seed", false}, {"rand_exponential", "seed", false}, {"rand_normal", "seed", false},
	{"range_avg", "r", false}, {"range_first", "r", true}, {"range_last", "r", true}, {"range_linear_regression", "r", false},
	{"range_mad", "r", false}, {"range_max", "r", true}, {"range_min", "r", true}, {"range_normalize", "r", false},
	{"range_quantile", "phi r", false}, {"range_stddev", "r", false}, {"range_stdvar", "r", false}, {"range_sum", "r", true},
	{"range_trim_outliers", "k r", true}, {"range_trim_spikes", "phi r", true}, {"range_trim_zscore", "k r", true},
	{"range_zscore", "r", false}, {"remove_resets", "r", true}, {"round", "r nearest", false}, {"running_avg", "r", false},
	{"running_max", "r", true}, {"running_min", "r", true}, {"running_sum", "r", true}, {"scalar", "r", true}, {"sgn", "r", true},
	{"sin", "r", false}, {"sinh", "r", false}, {"smooth_exponential", "r factor", false}, {"sqrt", "r", false}, {"start", "", true},
	{"step", "", true}, {"tan", "r", false}, {"tanh", "r", false}, {"time", "", true}, {"timezone_offset", "zone", true},
	{"vector", "scalar", true}, {"year", "time", true},
}

// labelFunctions change or look at labels; they keep values.
var labelFunctions = []function{
	{"label_copy", "r label newlabel", true}, {"label_del", "r label label", true}, {"label_graphite_group", "r groups", true},
	{"label_join", "r newlabel separator label label", true}, {"label_keep", "r label label", true}, {"label_lowercase", "r label", true},
	{"label_map", "r label value newvalue value newvalue", true}, {"label_match", "r label regexp", true},
	{"label_mismatch", "r label regexp", true}, {"label_move", "r label newlabel", true},
	{"label_replace", "r newlabel template label regexp", true}, {"label_set", "r newlabel newvalue", true},
	{"label_set", "r label newvalue label newvalue", true}, {"label_transform", "r label regexp template", true},
	{"label_uppercase", "r label", true}, {"label_value", "r numberlabel", true}, {"label_value", "r label", true}, {"labels_equal", "r label label", true},
}

// sorts order series; by labels that may be equal, which leaves the rest to chance.
var sorts = []function{
	{"sort", "r", true}, {"sort_desc", "r", true}, {"sort_by_label", "r label", true}, {"sort_by_label_desc", "r label label", true},
	{"sort_by_label_numeric", "r label", true}, {"sort_by_label_numeric_desc", "r label label", true},
}

// bucketFunctions take histograms, "b".
var bucketFunctions = []function{
	{"buckets_limit", "buckets b", true}, {"histogram_avg", "b", false}, {"histogram_fraction", "bound bound b", false},
	{"histogram_quantile", "phi b", false}, {"histogram_quantile", "phi b newlabel", false},
	{"histogram_quantiles", "newlabel phi phi b", false}, {"histogram_share", "bound b", false}, {"histogram_share", "bound b newlabel", false},
	{"histogram_stddev", "b", false}, {"histogram_stdvar", "b", false}, {"prometheus_buckets", "b", true},
}

// aggregates that sum in no order of their own are inexact, unless their
// arguments are exact; "always" is for those of which the arguments do not matter.
type aggregate struct {
	function
	sums   summing
	ranked bool // picks by values: equal ones are left to chance
}

type summing int

const (
	orderless summing = iota // whatever order: the same
	sums                     // inexact sums differ in the last digits
	always
)

var aggregates = []aggregate{
	{function{"avg", "r", false}, sums, false}, {function{"count", "r", true}, orderless, false},
	{function{"distinct", "r", true}, orderless, false}, {function{"geomean", "r", false}, always, false},
	{function{"group", "r", true}, orderless, false}, {function{"histogram", "r", true}, orderless, false},
	{function{"mad", "r", false}, orderless, false}, {function{"max", "r", true}, orderless, false},
	{function{"median", "r", false}, orderless, false}, {function{"min", "r", true}, orderless, false},
	{function{"mode", "r", true}, orderless, false}, {function{"share", "r", false}, sums, false},
	{function{"stddev", "r", false}, always, false}, {function{"stdvar", "r", false}, always, false},
	{function{"sum", "r", true}, sums, false}, {function{"sum2", "r", true}, always, false},
	{function{"zscore", "r", false}, always, false}, {function{"outliers_iqr", "r", true}, orderless, false},
	{function{"outliers_mad", "k r", true}, orderless, false}, {function{"quantile", "phi r", false}, orderless, false},
	{function{"quantiles", "newlabel phi phi r", false}, orderless, false}, {function{"count_values", "newlabel r", true}, orderless, false},
	{function{"limitk", "k r", true}, orderless, false}, {function{"outliersk", "k r", true}, orderless, true},
	{function{"topk", "k r", true}, orderless, true}, {function{"bottomk", "k r", true}, orderless, true},
	{function{"topk_avg", "k r other", true}, sums, true}, {function{"topk_last", "k r other", true}, sums, true},
	{function{"topk_max", "k r other", true}, sums, true}, {function{"topk_median", "k r other", true}, sums, true},
	{function{"topk_min", "k r other", true}, sums, true}, {function{"bottomk_avg", "k r other", true}, sums, true},
	{function{"bottomk_last", "k r other", true}, sums, true}, {function{"bottomk_max", "k r other", true}, sums, true},
	{function{"bottomk_median", "k r other", true}, sums, true}, {function{"bottomk_min", "k r other", true}, sums, true},
	{function{"sum", "r", true}, sums, false}, {function{"sum", "r", true}, sums, false}, {function{"max", "r", true}, orderless, false},
}

// aggregatable are the rollup functions that aggr_over_time takes.
var aggregatable = []string{
	"min_over_time", "max_over_time", "avg_over_time", "sum_over_time", "count_over_time", "last_over_time", "first_over_time",
	"increase", "rate", "delta", "irate", "deriv", "stddev_over_time", "changes", "resets", "lag", "lifetime", "tmax_over_time",
	"median_over_time", "mode_over_time", "iqr_over_time", "default_rollup", "ideriv", "increase_pure", "quantile_over_time", "scrape_interval",
}
