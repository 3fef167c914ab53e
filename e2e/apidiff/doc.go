// Package apidiff asks varve's HTTP API and Prometheus' own, both in this
// process and over the same obvious storage, and compares the answers byte by
// byte.
package apidiff
