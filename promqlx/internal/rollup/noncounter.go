package rollup

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// NonCounter returns the annotation that a series might be no counter, nil if
// there is nothing to say. The evaluation adds it once for each series that rate
// or increase has a float of, whatever the step; name is the function's, metric
// the labels of the series before the function, pos the position of the call's
// first argument.
func NonCounter(env *row.Env, name string, metric labels.Labels, pos posrange.PositionRange) error {
	if name != "rate" && name != "increase" {
		return nil
	}
	metricName := metric.Get(labels.MetricName)
	switch {
	case metricName == "":
		return nil
	case env.TypeAndUnit:
		typ := metric.Get("__type__")
		if typ == string(model.MetricTypeCounter) || typ == string(model.MetricTypeHistogram) {
			return nil
		}
		return annotations.NewPossibleNonCounterLabelInfo(metricName, typ, pos)
	}
	for _, suffix := range []string{"_total", "_sum", "_count", "_bucket"} {
		if strings.HasSuffix(metricName, suffix) {
			return nil
		}
	}
	return annotations.NewPossibleNonCounterInfo(metricName, pos)
}
