//go:build race

package part

// raceDetector says that the race detector is on: workloads that spend their
// time in one goroutine are then as short as with -short.
const raceDetector = true
