//go:build !race

package testkit

// hasRaceDetector tells whether the tests run with the race detector. If hasRaceDetector is true, RaceBinary builds the binary
// under test with the race detector too.
const hasRaceDetector = false
