package compliance

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// query is a template with all its places filled in.
type query struct {
	text     string
	mustFail bool
}

// variants returns what is put into the places of templates, by their names.
func variants() map[string][]string {
	arithmetic := []string{"+", "-", "*", "/", "%", "^"}
	comparison := []string{"==", "!=", "<", ">", "<=", ">="}
	return map[string][]string{
		"range":                {"1s", "15s", "1m", "5m", "15m", "1h"},
		"offset":               {"1m", "5m", "10m"},
		"simpleAggrOp":         {"sum", "avg", "max", "min", "count", "stddev", "stdvar"},
		"simpleTimeAggrOp":     {"sum", "avg", "max", "min", "count", "stddev", "stdvar", "absent", "last"},
		"topBottomOp":          {"topk", "bottomk"},
		"quantile":             {"-0.5", "0.1", "0.5", "0.75", "0.95", "0.90", "0.99", "1", "1.5"},
		"arithBinOp":           arithmetic,
		"compBinOp":            comparison,
		"binOp":                append(append([]string(nil), arithmetic...), comparison...),
		"simpleMathFunc":       {"abs", "ceil", "floor", "exp", "sqrt", "ln", "log2", "log10", "round"},
		"extrapolatedRateFunc": {"delta", "rate", "increase"},
		"clampFunc":            {"clamp_min", "clamp_max"},
		"instantRateFunc":      {"idelta", "irate"},
		"dateFunc":             {"day_of_month", "day_of_week", "days_in_month", "hour", "minute", "month", "year"},
	}
}

// readQueries expands the templates of a file, in its order.
func readQueries(path string) ([]query, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	place, known := regexp.MustCompile(`\{\{\w+\}\}`), variants()
	var out []query
	var expand func(q query) error
	expand = func(q query) error {
		first := place.FindString(q.text)
		if first == "" {
			out = append(out, q)
			return nil
		}
		values := known[strings.Trim(first, "{}")]
		if len(values) == 0 {
			return fmt.Errorf("template %s: nothing is known to put into %s", q.text, first)
		}
		for _, v := range values {
			if err := expand(query{strings.ReplaceAll(q.text, first, v), q.mustFail}); err != nil {
				return err
			}
		}
		return nil
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		template, mustFail := strings.CutPrefix(line, "! ")
		if err := expand(query{template, mustFail}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
