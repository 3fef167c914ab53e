//go:build race

package part

// raceDetector says that the race detector is on, under which sync.Pool forgets at
// random.
const raceDetector = true
