package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	maxFuncLines = 70
	maxFileLines = 700
)

// longFunctions are the functions that were longer than maxFuncLines when the
// limit came, as "file:function", with their lines. They may only shrink; no
// entry may be added.
var longFunctions = map[string]int{}

func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	sources(t, func(s *source) {
		if s.isTest() && documented[s.dir()] {
			return
		}
		documented[s.dir()] = documented[s.dir()] || s.file.Doc != nil && strings.TrimSpace(s.file.Doc.Text()) != ""
	})
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

// TestLibraries holds library code to: no flags, no init functions, no exits,
// no test code.
func TestLibraries(t *testing.T) {
	sources(t, func(s *source) {
		if !s.isLibrary() {
			return
		}
		for _, imp := range s.file.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err == nil && (p == "flag" || p == "testing" || strings.HasPrefix(p, "testing/")) {
				t.Errorf("%s: library code imports %s", s.at(imp.Pos()), p)
			}
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: library code has an init function", s.at(f.Pos()))
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if ok && (pkg.Name == "os" && sel.Sel.Name == "Exit" || pkg.Name == "log" && strings.HasPrefix(sel.Sel.Name, "Fatal")) {
				t.Errorf("%s: library code ends the process", s.at(n.Pos()))
			}
			return true
		})
	})
}

func TestFunctionLength(t *testing.T) {
	seen := map[string]bool{}
	sources(t, func(s *source) {
		if s.isTest() {
			return
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			lines := s.at(f.End()).Line - s.at(f.Pos()).Line + 1
			if lines <= maxFuncLines {
				continue
			}
			key := s.name + ":" + f.Name.Name
			seen[key] = true
			if limit := longFunctions[key]; lines > max(limit, maxFuncLines) {
				t.Errorf("%s: %s has %d lines, want at most %d", s.at(f.Pos()), f.Name.Name, lines, max(limit, maxFuncLines))
			}
		}
	})
	for key := range longFunctions {
		if !seen[key] {
			t.Errorf("%s is short or gone: take it off the list", key)
		}
	}
}

func TestFileLength(t *testing.T) {
	sources(t, func(s *source) {
		if n := bytes.Count(s.content, []byte("\n")); n > maxFileLines {
			t.Errorf("%s has %d lines, want at most %d", s.name, n, maxFileLines)
		}
	})
}

func TestFormatted(t *testing.T) {
	sources(t, func(s *source) {
		want, err := format.Source(s.content)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		} else if !bytes.Equal(s.content, want) {
			t.Errorf("%s is not formatted: run gofmt", s.name)
		}
	})
}

func TestNoLeftovers(t *testing.T) {
	leftover := regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}, "|") + `)\b`)
	files(t, func(name string, content []byte) {
		if strings.Contains("/"+name, "/testdata/") || path.Base(name) == "go.sum" || path.Base(name) == "LICENSE" {
			return
		}
		for i, line := range bytes.Split(content, []byte("\n")) {
			if leftover.Match(line) {
				t.Errorf("%s:%d: leftover: %s", name, i+1, bytes.TrimSpace(line))
			}
		}
	})
}

// TestNoLocalNames keeps the names of one machine, and of the hosts that serve
// packages, out of the tree.
func TestNoLocalNames(t *testing.T) {
	banned := []string{
		"/wor" + "k/main", "/wor" + "k/shared", "/ro" + "ot/", "/home" + "/runner", "/fa" + "rm/",
		"proxy.gol" + "ang.org", "sum.gol" + "ang.org", "go" + "proxy.", "registry.npm" + "js.org", "registry.yarn" + "pkg.com",
		"py" + "pi.org", "files.python" + "hosted.org", "crates" + ".io", "repo1.mav" + "en.org", "repo.mav" + "en.apache.org",
		"deb.deb" + "ian.org", "archive.ubu" + "ntu.com",
	}
	banned = append(banned, goEnvNames(t)...)
	files(t, func(name string, content []byte) {
		for i, line := range bytes.Split(content, []byte("\n")) {
			for _, b := range banned {
				if bytes.Contains(line, []byte(b)) {
					t.Errorf("%s:%d: names %q", name, i+1, b)
				}
			}
		}
	})
}

// goEnvNames returns the places that this machine's toolchain uses.
func goEnvNames(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOPROXY", "GOSUMDB", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	var names []string
	for _, word := range strings.FieldsFunc(string(out), func(r rune) bool { return strings.ContainsRune(",|\n ", r) }) {
		if _, host, ok := strings.Cut(word, "://"); ok {
			if _, after, ok := strings.Cut(host, "@"); ok {
				host = after
			}
			host, _, _ = strings.Cut(host, "/")
			host, _, _ = strings.Cut(host, ":")
			word = host
		}
		if len(word) > len("localhost") && strings.ContainsAny(word, "./") && !strings.HasPrefix(word, "127.") {
			names = append(names, word)
		}
	}
	return names
}

// TestConfigsAreLoaded wants every example under configs to be named by a test,
// which then loads it.
func TestConfigsAreLoaded(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, "configs"))
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, e := range entries {
		if ext := path.Ext(e.Name()); ext != ".md" && ext != ".go" {
			missing = append(missing, e.Name())
		}
	}
	if len(missing) == 0 {
		t.Error("configs holds no examples")
	}
	sources(t, func(s *source) {
		if !s.isTest() || s.dir() == "e2e/tidy" {
			return
		}
		missing = slices.DeleteFunc(missing, func(name string) bool {
			return s.dir() == "configs" && bytes.Contains(s.content, []byte(strconv.Quote(name))) ||
				bytes.Contains(s.content, []byte(fmt.Sprintf("configs/%s\"", name)))
		})
	})
	for _, name := range missing {
		t.Errorf("no test loads configs/%s", name)
	}
}
