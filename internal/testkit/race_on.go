//go:build race

package testkit

// raceDetector tells whether the tests, and so the binary, run with the race detector.
const raceDetector = true
