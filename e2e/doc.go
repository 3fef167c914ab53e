// Package e2e is empty. Its subpackages test varve from outside, with real
// binaries and with packages of Prometheus' server that the product must not
// depend on.
package e2e
