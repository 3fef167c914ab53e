//go:build race

package wire

// raceDetector says that the race detector is on: what is computed in one
// goroutine is then slow without being tested for more, and loops are shorter.
const raceDetector = true
