// Package apistore asks varve's whole server over its own store, and Prometheus'
// API over the same store or over one of its own with the same data, and
// compares the answers byte by byte. Package apidiff does so for the API alone.
package apistore
