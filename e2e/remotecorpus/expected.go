package remotecorpus

import "fmt"

// group is evals that fail for one reason, by file and line.
type group struct {
	reason string
	lines  map[string][]int
}

// The evals that fail because of what the protocols or Prometheus' own client
// do. Prometheus' own store behind its own doors fails each of them too, which
// TestUpstream checks.
var (
	sampledFailures = []group{
		{"a sampled answer has no field for start timestamps", map[string][]int{
			"start_timestamps.test": {8, 13, 18, 24, 29, 34, 47, 71, 79, 87, 149, 174, 194, 259, 282, 299, 326, 418, 422, 438, 441, 444, 448, 465, 471, 477, 490, 507, 515, 520, 536},
		}},
		{"Prometheus' client skips samples of series that mix floats and histograms", map[string][]int{
			"extended_vectors.test":  {742, 751, 763, 772},
			"functions.test":         {52, 97, 249, 256, 260, 264, 267, 271, 332, 339, 343, 347, 350, 353, 384, 551, 695, 698, 701, 941, 1913, 1945, 2316},
			"native_histograms.test": {2139, 2142},
		}},
	}
	streamedFailures = []group{
		{"chunks cut at the start of the range lose the hint of their first histogram", map[string][]int{
			"native_histograms.test": {1884, 1889, 1958, 1963, 2017, 2022},
			"range_queries.test":     {93},
		}},
	}
)

// table returns the reasons by "file:line".
func table(groups []group) map[string]string {
	out := map[string]string{}
	for _, g := range groups {
		for file, lines := range g.lines {
			for _, line := range lines {
				out[fmt.Sprintf("%s:%d", file, line)] = g.reason
			}
		}
	}
	return out
}
