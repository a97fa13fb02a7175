package period

import "mizan/ledger/fsm"

// State is the state of a month: open or closed.
type State string

// The states. An open month has no record.
const (
	Open   State = "open"
	Closed State = "closed"
)

// Action is the name of an event in the journal that changes a month's state.
type Action string

// Close is the only Action.
const Close Action = "close"

// Step is a transition of the state machine: the next state, and the reason.
type Step struct {
	To  State
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() State { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is a month's state machine. testdata/machine.txt contains the same table as text, for reviews.
var Machine = fsm.MustCompile(
	[]State{Open, Closed},
	[]Action{Close},
	fsm.Table[State, Action, Step]{
		Open:   {Close: {To: Closed, Why: "it has ended, and nothing is due in it any more"}},
		Closed: {},
	})
