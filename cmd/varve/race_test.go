//go:build race

package main

// raceDetector tells that tests run with the race detector, which takes memory of
// its own.
const raceDetector = true
