//go:build !race

package tsdb_test

const raceDetector = false
