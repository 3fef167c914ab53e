package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// goBench is a benchmark of Go whose figures have bars. It knows its rivals
// itself. Only its name is given here, so that packages may change theirs.
type goBench struct {
	title   string
	pattern string
	length  string   // of one measurement, as -benchtime has it
	units   []string // the metrics to print
	judge   func(name string, metrics figures) (bar string, holds bool)
}

// codecBench decodes the same data from blocks and from Prometheus' chunks.
var codecBench = goBench{
	title: "decode, beside XOR chunks", pattern: "^BenchmarkAgainstXOR$", length: "500ms",
	units: []string{"b1-ns/value", "xor-ns/value", "x-min"},
	judge: func(name string, m figures) (string, bool) {
		want := 5.0
		for _, classes := range []string{"/sum_of_", "/100_a/b"} { // coded by class, not integers or decimals
			if strings.Contains(name, classes) {
				want = 3
			}
		}
		return fmt.Sprintf(">= %.0f x", want), m["x-min"] >= want
	},
}

// indexBench selects among 5 million series. short are the label sets of
// VictoriaMetrics, long those of Prometheus; x-rival is how many times longer
// they took for it. Only what runs without the cache of results is judged, and
// i=~".*" of the short sets is not: it matches nothing in VictoriaMetrics. What
// handing over all series takes is measured alone.
var indexBench = goBench{
	title: "index, 5 M series", pattern: "^Benchmark(Matchers|HandOver)$", length: "100ms",
	units: []string{"ns/op", "cpu-ns/op", "x-rival", "MiB"},
	judge: func(name string, m figures) (string, bool) {
		ratio, known := m["x-rival"]
		switch {
		case strings.HasSuffix(name, "/size"):
			return "<= 400 MiB", m["MiB"] <= 400
		case name == "BenchmarkHandOver":
			return "<= 2000 ns", m["ns/op"] <= 2000
		case !known || strings.Contains(name, "/all/"), strings.Contains(name, "/short/") && strings.HasSuffix(name, `/i=~".*"`):
			return "", true
		case strings.Contains(name, "/short/"):
			return ">= 10 x or <= 1000 ns", ratio >= 10 || m["cpu-ns/op"] <= 1000
		}
		return ">= 1 x", ratio >= 1
	},
}

var registerBench = goBench{
	title: "first samples of series, in process", pattern: "^BenchmarkRegister$", length: "1x",
	units: []string{"cpu-ns/series"},
	judge: func(_ string, m figures) (string, bool) { return "<= 5000 ns", m["cpu-ns/series"] <= 5000 },
}

// goTest runs the tests or benchmarks of the storage and returns the output.
func goTest(args ...string) ([]byte, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return nil, errors.New("find own source file")
	}
	cmd := exec.Command("go", append([]string{"test"}, args...)...)
	cmd.Dir = filepath.Join(filepath.Dir(file), "..", "..")
	cmd.Args = append(cmd.Args, "./tsdb/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return out, nil
}

// run measures COUNT times and prints the medians.
func (g goBench) run(c config) error {
	out, err := goTest("-run", "^$", "-bench", g.pattern, "-benchtime", g.length, "-count", strconv.Itoa(c.count), "-timeout", "2h")
	if err != nil {
		return err
	}
	names, measured, err := parseBenchmarks(out)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no benchmark is named %s", g.pattern)
	}
	fmt.Println(g.table(names, measured))
	return nil
}

func (g goBench) table(names []string, measured map[string][]figures) string {
	cells := [][]string{append(append([]string{g.title}, g.units...), "bar", "")}
	for _, name := range names {
		m := medians(measured[name])
		line := []string{strings.TrimPrefix(name, "Benchmark")}
		for _, unit := range g.units {
			v, known := m[unit]
			line = append(line, dashUnless(known, strconv.FormatFloat(v, 'f', 2, 64)))
		}
		bar, holds := g.judge(name, m)
		verdict := ""
		if bar != "" {
			verdict = map[bool]string{true: "holds", false: "MISSED"}[holds]
		}
		cells = append(cells, append(line, bar, verdict))
	}
	var out strings.Builder
	writeAligned(&out, cells)
	return out.String()
}

// parseBenchmarks reads what go test -bench prints. Names come in order, without
// the number of processors.
func parseBenchmarks(out []byte) (names []string, measured map[string][]figures, err error) {
	measured = map[string][]figures{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := fields[0]
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			if _, err := strconv.Atoi(name[at+1:]); err == nil {
				name = name[:at]
			}
		}
		m := figures{}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, nil, fmt.Errorf("benchmark line %q: %w", lines.Text(), err)
			}
			m[fields[i+1]] = v
		}
		if measured[name] == nil {
			names = append(names, name)
		}
		measured[name] = append(measured[name], m)
	}
	return slices.Clip(names), measured, lines.Err()
}

// printSizes prints the table of a test that holds the size of each shape of
// values against the rival's codec.
func printSizes(config) error {
	out, err := goTest("-run", "^TestSizes$", "-count", "1", "-v")
	if err != nil {
		return err
	}
	found := false
	for line := range strings.Lines(string(out)) {
		if text := strings.TrimPrefix(line, "        "); text != line && strings.TrimSpace(text) != "" {
			found = true
			fmt.Print(text)
		}
	}
	if !found {
		return errors.New("no test is named TestSizes")
	}
	fmt.Print("sizes: all below the rival's with headers, random mantissas at most 12 % above: holds\n\n")
	return nil
}
