package serving

import (
	"testing"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The reasons why tests are not repeated under the race detector.
const (
	reasonRefusedStart      = "a start that is refused ends before anything runs at once"
	reasonStartIsSequential = "what a start writes and prints is decided on one goroutine, before it serves"
	reasonReadsMemory       = "it reads the memory of a process, to which the detector adds its own"
	reasonCountsFiles       = "it counts the open files of a loaded server; the loads for the detector are those of actors and api"
)
