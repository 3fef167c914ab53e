package mqldiff

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// coverage counts queries with an answer that has series, by what they call.
type coverage map[string]int

var called = regexp.MustCompile(`([a-zA-Z_0-9]+) ?(?:\(|by|without)`)

func newCoverage() coverage {
	c := coverage{}
	for _, list := range [][]function{rollups, transforms, labelFunctions, sorts, bucketFunctions} {
		for _, f := range list {
			c[f.name] = 0
		}
	}
	for _, a := range aggregates {
		c[a.name] = 0
	}
	return c
}

func (c coverage) add(text string, a answer) {
	if a.Status != 200 || strings.Contains(a.Body, `"result":[]`) {
		return
	}
	for _, m := range called.FindAllStringSubmatch(text, -1) {
		if _, ok := c[strings.ToLower(m[1])]; ok {
			c[strings.ToLower(m[1])]++
		}
	}
}

// rarest tells the functions that were met least.
func (c coverage) rarest(n int) string {
	var out []string
	for name, n := range c {
		out = append(out, fmt.Sprintf("%4d %s", n, name))
	}
	slices.Sort(out)
	return strings.Join(out[:min(n, len(out))], ", ")
}
