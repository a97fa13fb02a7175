package remote_test

import (
	"testing"

	"mizan/internal/providersuite"
	"mizan/internal/providersuite/simulated"
)

// The connection to a simulator keeps the contract of all adapters.
func TestConnectionKeepsTheContractOfProviders(t *testing.T) {
	providersuite.Run(t, simulated.Remote())
}
