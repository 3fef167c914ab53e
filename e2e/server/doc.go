// Package server tests varve from outside: the real binary, real clients and a
// real Prometheus, over HTTP only.
package server
