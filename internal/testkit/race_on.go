//go:build race

package testkit

// hasRaceDetector tells whether the tests run with the race detector. If they do, the binary under test is built with the
// race detector too.
const hasRaceDetector = true
