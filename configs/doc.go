// Package configs holds examples of configurations that work with varve, and the
// tests that load them.
package configs
