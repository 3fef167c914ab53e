package main

import (
	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector is the matchers of a selector as Prometheus writes it.
type selector []*labels.Matcher

// Set implements kingpin.Value.
func (s *selector) Set(text string) (err error) {
	*s, err = parser.NewParser(parser.Options{}).ParseMetricSelector(text)
	return err
}

// String implements kingpin.Value.
func (s *selector) String() string { return "" }

func selectorArg(cmd *kingpin.CmdClause) *selector {
	s := new(selector)
	cmd.Arg("selector", `Which series, as in '{job="x"}' or 'up'.`).Required().SetValue(s)
	return s
}

func selectorFlag(cmd *kingpin.CmdClause) *selector {
	s := new(selector)
	cmd.Flag("match", `Only the series of this selector, as in '{job="x"}' or 'up'.`).PlaceHolder("SELECTOR").SetValue(s)
	return s
}

func partsArg(cmd *kingpin.CmdClause) *[]uint64 {
	return cmd.Arg("part", "Number of a part; all if there is none.").Uint64List()
}

func blockArgs(cmd *kingpin.CmdClause) (id *uint64, offset *int64) {
	return cmd.Arg("part", "Number of the part.").Required().Uint64(), cmd.Arg("offset", "Where block ls says it is.").Required().Int64()
}

// codingHelp explains the columns of block ls and block stats.
const codingHelp = `CODING is how values are said as integers, and how these are coded:

  decimal     mantissas of one scale: the smallest
  near        decimals and how far from them: what adding decimals up yields
  doubles     the bits of doubles: the largest

  linear      a constant or a line: next to nothing
  runs        of equal values
  huff, class short codes for what is frequent
  pack        for each as many bits as the largest takes

TIMES is grid if samples come at even intervals, which costs nothing. SHORT counts blocks of less than 120 samples, whose headers outweigh them, EXCEPTIONS values that are stored apart. BYTES are those of values alone; db space tells of the rest.
`
