package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// queryPoint is a time and a value, or a histogram, as JSON has them.
type queryPoint [2]json.RawMessage

// String returns the value and the time in brackets, as promtool writes them.
func (p queryPoint) String() string {
	value := string(p[1])
	var s string
	if json.Unmarshal(p[1], &s) == nil {
		value = s
	}
	return fmt.Sprintf("%s @[%s]", value, p[0])
}

// querySeries is an element of a vector or of a matrix.
type querySeries struct {
	Metric     map[string]string
	Value      *queryPoint
	Histogram  *queryPoint
	Values     []queryPoint
	Histograms []queryPoint
}

// print writes the plan or the result, then the trace, and warnings to errors.
func (a *queryAnswer) print(out, errors io.Writer) error {
	for _, w := range a.Warnings {
		fmt.Fprintf(errors, "warning: %s\n", w)
	}
	for _, i := range a.Infos {
		fmt.Fprintf(errors, "info: %s\n", i)
	}
	if a.Data.ResultType == "" {
		fmt.Fprintln(out, strings.TrimSuffix(a.Data.Explain, "\n"))
	} else if err := a.printResult(out); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	if a.Trace != nil {
		fmt.Fprintln(out)
		a.Trace.print(out, "")
	}
	return nil
}

func (a *queryAnswer) printResult(out io.Writer) error {
	if a.Data.ResultType == "scalar" || a.Data.ResultType == "string" {
		var p queryPoint
		if err := json.Unmarshal(a.Data.Result, &p); err != nil {
			return err
		}
		fmt.Fprintln(out, p)
		return nil
	}
	var list []querySeries
	if err := json.Unmarshal(a.Data.Result, &list); err != nil {
		return err
	}
	for _, s := range list {
		fmt.Fprint(out, labels.FromMap(s.Metric))
		for _, p := range []*queryPoint{s.Value, s.Histogram} {
			if p != nil {
				fmt.Fprint(out, " ", p)
			}
		}
		fmt.Fprintln(out)
		for _, p := range append(s.Values, s.Histograms...) {
			fmt.Fprintln(out, p)
		}
	}
	return nil
}

func (t *traceStep) print(out io.Writer, indent string) {
	fmt.Fprintf(out, "%s%.3fms %s\n", indent, t.Milliseconds, t.Message)
	for _, c := range t.Children {
		c.print(out, indent+"  ")
	}
}
