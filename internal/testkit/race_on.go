//go:build race

package testkit

// hasRaceDetector tells whether the tests run with the race detector. The binary under test is then built with it too.
const hasRaceDetector = true
