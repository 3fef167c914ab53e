//go:build !race

package part

const raceDetector = false
