//go:build !race

package testkit

// raceDetector tells whether the tests, and so the binary, run under the detector.
const raceDetector = false
