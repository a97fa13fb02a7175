package period

import "mizan/ledger/fsm"

// State is a month's state.
type State string

// The states. An open month has no record.
const (
	Open   State = "open"
	Closed State = "closed"
)

// Action is the name of a month's event in the journal.
type Action string

// Close is the only action on a month.
const Close Action = "close"

// Step is a transition in the machine's table.
type Step struct {
	To  State
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() State { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is a month's state machine. testdata/machine.txt has the same table as text, for reviews.
var Machine = fsm.MustCompile(
	[]State{Open, Closed},
	[]Action{Close},
	fsm.Table[State, Action, Step]{
		Open:   {Close: {To: Closed, Why: "it has ended, and nothing is due in it any more"}},
		Closed: {},
	})
