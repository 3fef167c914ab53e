package tidy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// arrows is a set of rules of the form "a < b": b may import a.
type arrows struct {
	below map[string]map[string]bool // package -> all it may import
}

// parseArrows reads statements "a, b < c < d, e;". Every package of a list may
// import every one of the list before it and whatever those may import. NONE is
// the empty list; # begins a comment.
func parseArrows(text string) (*arrows, error) {
	a := &arrows{below: map[string]map[string]bool{}}
	var lines []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		lines = append(lines, line)
	}
	statements := strings.Split(strings.Join(lines, " "), ";")
	if rest := strings.TrimSpace(statements[len(statements)-1]); rest != "" {
		return nil, fmt.Errorf("rule %q does not end in a semicolon", rest)
	}
	for _, statement := range statements[:len(statements)-1] {
		if err := a.add(statement); err != nil {
			return nil, err
		}
	}
	a.close()
	for name, below := range a.below {
		if below[name] {
			return nil, fmt.Errorf("%s is below itself", name)
		}
	}
	return a, nil
}

func (a *arrows) add(statement string) error {
	var previous []string
	for i, list := range strings.Split(statement, "<") {
		var names []string
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if name == "" || strings.ContainsAny(name, " \t") {
				return fmt.Errorf("rule %q: got %q, want the name of a package", strings.TrimSpace(statement), name)
			}
			if name == "NONE" {
				if i > 0 {
					return fmt.Errorf("rule %q: NONE may only stand at its start", strings.TrimSpace(statement))
				}
				continue
			}
			if a.below[name] == nil {
				a.below[name] = map[string]bool{}
			}
			for _, p := range previous {
				a.below[name][p] = true
			}
			names = append(names, name)
		}
		previous = names
	}
	return nil
}

// close adds what the packages below may import, until nothing is new.
func (a *arrows) close() {
	for changed := true; changed; {
		changed = false
		for _, below := range a.below {
			for b := range below {
				for c := range a.below[b] {
					if !below[c] {
						below[c], changed = true, true
					}
				}
			}
		}
	}
}

// knows tells whether a rule names the package.
func (a *arrows) knows(name string) bool { return a.below[name] != nil }

// allows tells whether package name may import dep.
func (a *arrows) allows(name, dep string) bool { return a.below[name][dep] }

func TestArrows(t *testing.T) {
	a, err := parseArrows(`
		NONE < x, y;   # a comment
		x < p < q;
		y < q;
	`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dep string
		want      bool
	}{{"p", "x", true}, {"q", "x", true}, {"q", "y", true}, {"p", "y", false}, {"x", "p", false}, {"x", "y", false}} {
		if got := a.allows(c.name, c.dep); got != c.want {
			t.Errorf("%s may import %s: got %t, want %t", c.name, c.dep, got, c.want)
		}
	}
	if a.knows("z") || !a.knows("x") {
		t.Error("only packages that a rule names are known")
	}
	for _, bad := range []string{"a < b", "a < b < a;", "a < ;", "a b < c;", "a < NONE;"} {
		if _, err := parseArrows(bad); err == nil {
			t.Errorf("rules %q: want an error", bad)
		}
	}
}

// permits is a list of lines "package: place place": only these places may
// import the package. A place or package that ends in /... stands for itself
// and all below it; no place at all means that nobody may.
type permits []permit

type permit struct {
	pattern string
	places  []string
}

func parsePermits(text string) (permits, error) {
	var out permits
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		pattern, places, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("line %q has no colon", line)
		}
		out = append(out, permit{pattern: strings.TrimSpace(pattern), places: strings.Fields(places)})
	}
	return out, nil
}

// denies returns the line that forbids package name to import dep, "" if none.
func (ps permits) denies(name, dep string) string {
	for _, p := range ps {
		if matchPath(p.pattern, dep) && !slices.ContainsFunc(p.places, func(place string) bool { return matchPath(place, name) }) {
			return p.pattern + ": " + strings.Join(p.places, " ")
		}
	}
	return ""
}

// matchPath compares a path with a pattern, which may end in "/..." for
// everything below, or in "*" for any ending.
func matchPath(pattern, path string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == root || strings.HasPrefix(path, root+"/")
	}
	if start, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, start)
	}
	return path == pattern
}

func TestPermits(t *testing.T) {
	ps, err := parsePermits(`
		net/http/...: remote/... # the door
		bad.example/yaml.*:
	`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dep string
		want      bool
	}{
		{"remote", "net/http", true},
		{"remote/api", "net/http/pprof", true},
		{"remotely", "net/http", false},
		{"tsdb", "net/http", false},
		{"tsdb", "net/httpx", true},
		{"remote", "bad.example/yaml.v3", false},
	} {
		if got := ps.denies(c.name, c.dep) == ""; got != c.want {
			t.Errorf("%s may import %s: got %t, want %t", c.name, c.dep, got, c.want)
		}
	}
	if _, err := parsePermits("net/http remote"); err == nil {
		t.Error("a line without a colon: want an error")
	}
}
