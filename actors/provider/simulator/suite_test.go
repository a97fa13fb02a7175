package simulator_test

import (
	"testing"

	"mizan/internal/providersuite"
	"mizan/internal/providersuite/simulated"
)

// The simulator keeps the contract of all adapters.
func TestSimulatorKeepsTheContractOfProviders(t *testing.T) { providersuite.Run(t, simulated.Local()) }
