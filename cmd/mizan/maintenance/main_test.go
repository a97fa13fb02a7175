package maintenance

import (
	"testing"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The reasons why tests are not repeated under the race detector.
const (
	reasonNothingConcurrent = "it examines commands with one goroutine, and servers that answer one request after the other"
	reasonRefusedCommand    = "it examines commands that are refused before anything runs at once"
)
