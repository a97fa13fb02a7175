package payment

import (
	"github.com/sony/gobreaker/v2"

	"mizan/ledger"
)

// CircuitState is the state of a terminal's circuit.
type CircuitState struct {
	Terminal ledger.ID
	State    string // one of CircuitStates
	Failures uint32 // charges in a row that the provider did not answer
}

// CircuitStates are the names of the states in the API. open: the terminal is skipped; half_open: its next charge is a probe;
// closed: charges pass.
var CircuitStates = []string{"open", "half_open", "closed"}

// CircuitStates returns the circuits of the terminals whose providers failed to answer this process at least once.
func (s *Service) CircuitStates() (states []CircuitState) {
	s.circuits.byTerminal.Range(func(key, value any) bool {
		c := value.(*circuit)
		word := CircuitStates[2]
		switch c.State() {
		case gobreaker.StateOpen:
			word = CircuitStates[0]
		case gobreaker.StateHalfOpen:
			word = CircuitStates[1]
		}
		states = append(states, CircuitState{key.(ledger.ID), word, c.Counts().ConsecutiveFailures})
		return true
	})
	return states
}
