// Package harness runs real binaries for tests: it builds varve and Prometheus,
// starts them on free loopback ports with folders of their own, waits until they
// are ready, stops or kills them, and speaks their HTTP APIs.
//
// A package that starts varve calls Main from its TestMain, which removes what
// was built.
//
// The variable VARVE_BIN names a varve binary to use instead of a fresh build,
// PROMETHEUS_BIN one of Prometheus.
package harness
