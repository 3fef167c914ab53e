//go:build !race

package influx

const raceDetector = false
