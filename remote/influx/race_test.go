//go:build race

package influx

// raceDetector says that the race detector is on: sync.Pool then drops what it
// is given now and then, so that steady state allocates, and everything is slow.
const raceDetector = true
