package simulator

import (
	"testing"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
