package tidy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// root is the top of the repository, seen from this package.
const root = "../.."

// notOurs are the folders that are no part of the source: version control, what
// make builds, and what a server leaves.
var notOurs = map[string]bool{".git": true, "bin": true, "data": true, "node_modules": true}

// files calls f with the slash-separated name and the content of every text file.
func files(t *testing.T, f func(name string, content []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if notOurs[rel] || path.Base(rel) == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if utf8.Valid(content) && !bytes.ContainsRune(content, 0) {
			f(rel, content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// source is one parsed Go file.
type source struct {
	name    string // slash-separated, from the root
	content []byte
	fset    *token.FileSet
	file    *ast.File
}

// sources calls f with every Go file outside testdata.
func sources(t *testing.T, f func(s *source)) {
	t.Helper()
	count := 0
	files(t, func(name string, content []byte) {
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
			return
		}
		s := &source{name: name, content: content, fset: token.NewFileSet()}
		var err error
		if s.file, err = parser.ParseFile(s.fset, name, content, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			t.Errorf("%v", err)
			return
		}
		count++
		f(s)
	})
	if count < 50 {
		t.Errorf("got %d Go files, want at least 50: is %q the root?", count, root)
	}
}

func (s *source) dir() string { return path.Dir(s.name) }

func (s *source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

// isLibrary tells whether other packages link the file: it is no test, no
// program, and no helper of tests.
func (s *source) isLibrary() bool {
	return !s.isTest() && s.file.Name.Name != "main" && !isTestHelper(s.dir()) && !strings.HasPrefix(s.name, "e2e/")
}

// isTestHelper tells whether a package exists for tests, as its name says or that
// of a folder it is in.
func isTestHelper(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool { return strings.HasSuffix(s, "test") })
}

func (s *source) at(pos token.Pos) token.Position { return s.fset.Position(pos) }
