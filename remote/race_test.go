//go:build race

package remote_test

// raceDetector says that the race detector is on: everything is slow then.
const raceDetector = true
