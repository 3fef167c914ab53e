// Package tidy holds the tests that keep the tree in order: which package may
// import which (deps_test.go), and what every source file has to look like
// (tidy_test.go). They need the Go toolchain and nothing else.
package tidy
