package promqlx

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// boundedParser refuses texts that are too long to be parsed: upstream's parser
// takes more than linear time and hundreds of bytes of memory for each of theirs,
// and knows no deadline.
type boundedParser struct {
	parser.Parser
	max int
}

func (p boundedParser) check(text string) error {
	if len(text) > p.max {
		return fmt.Errorf("query of %d bytes is too long (limit: %d bytes, --query.max-length)", len(text), p.max)
	}
	return nil
}

func (p boundedParser) ParseExpr(input string) (parser.Expr, error) {
	if err := p.check(input); err != nil {
		return nil, err
	}
	return p.Parser.ParseExpr(input)
}

func (p boundedParser) ParseMetricSelector(input string) ([]*labels.Matcher, error) {
	if err := p.check(input); err != nil {
		return nil, err
	}
	return p.Parser.ParseMetricSelector(input)
}

func (p boundedParser) ParseMetricSelectors(inputs []string) ([][]*labels.Matcher, error) {
	total := 0
	for _, in := range inputs {
		total += len(in)
	}
	if total > p.max {
		return nil, fmt.Errorf("selectors of %d bytes are too long (limit: %d bytes, --query.max-length)", total, p.max)
	}
	return p.Parser.ParseMetricSelectors(inputs)
}
