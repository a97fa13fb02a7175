package reconciliation

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/fsm"
)

// State is the state of a report, of a difference or of a closed day in the journal.
type State string

// The states.
const (
	Importing State = "importing" // a report whose lines are being stored
	Complete  State = "complete"  // a report whose lines are all stored
	Stored    State = "stored"    // a batch of lines
	Open      State = "open"      // a difference that needs a decision
	InTransit State = "in_transit"
	Settled   State = "settled"
	Closed    State = "closed"
)

// Action is the name of an event in the journal that changes such a state.
type Action string

// The actions. Those of a difference are the words of its decisions.
const (
	Begin  Action = "import"
	Extend Action = "extend"
	Finish Action = "finish"
	Store  Action = "store"
	Find   Action = "find"
	Close  Action = "close"

	WriteOff  Action = "write_off"
	AcceptFee Action = "accept_fee"
	Wait      Action = "wait"
	Link      Action = "link"
	Transit   Action = "in_transit"
	Arrive    Action = "arrived"
	MatchLate Action = "matched" // a later line or decision explains the entry that was missing there
)

// Step is a transition of a state machine: the next state, and the reason.
type Step struct {
	To  State
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() State { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// absent is the state of a record before its first event.
const absent State = "absent"

type (
	machine = *fsm.Machine[State, Action, Step]
	table   = fsm.Table[State, Action, Step]
)

// The machines. A report that was cut off stays importing until the same upload finishes it.
var (
	reportMachine = fsm.MustCompile([]State{absent, Importing, Complete}, []Action{Begin, Extend, Finish}, table{
		absent: {Begin: {Importing, "its lines follow in batches"}},
		Importing: {
			Extend: {Importing, "a further batch of lines, or of entries that are missing there, is stored"},
			Finish: {Complete, "all lines are stored, and the entries of its days were compared with them"},
		},
		Complete: {},
	})
	batchMachine = fsm.MustCompile([]State{absent, Stored}, []Action{Store}, table{
		absent: {Store: {Stored, "lines of a report, with what they were matched with"}},
		Stored: {},
	})
	differenceMachine = fsm.MustCompile([]State{absent, Open, InTransit, Settled},
		[]Action{Find, WriteOff, AcceptFee, Wait, Link, Transit, Arrive, MatchLate}, table{
			absent: {Find: {Open, "an import has found it"}},
			Open: {
				WriteOff:  {Settled, "the amount is written off, or kept as unidentified"},
				AcceptFee: {Settled, "it is a fee of the provider"},
				Wait:      {Open, "somebody is looking into it, and says why"},
				Link:      {Settled, "an entry explains it"},
				Transit:   {InTransit, "the provider has paid it out, and it is not yet at the bank"},
				MatchLate: {Settled, "its entry was found in a later report, or explains another difference"},
			},
			InTransit: {Arrive: {Settled, "it has arrived at the bank"}},
			Settled:   {},
		})
	dayMachine = fsm.MustCompile([]State{absent, Closed}, []Action{Close}, table{
		absent: {Close: {Closed, "no difference of the day is open"}},
		Closed: {},
	})
)

// IsDecision tells whether a person may decide so on an open difference or on money in transit.
func IsDecision(a Action) bool {
	switch a {
	case WriteOff, AcceptFee, Wait, Link, Transit, Arrive:
		return true
	}
	return false
}

// Decisions are the words of the decisions that a person may make.
var Decisions = []string{string(WriteOff), string(AcceptFee), string(Wait), string(Link), string(Transit), string(Arrive)}

// machines has the state machine of each kind of record of this package.
var machines = map[ledger.Kind]machine{
	ledger.SettlementReport: reportMachine, ledger.SettlementLines: batchMachine, ledger.Difference: differenceMachine, ledger.ReconciledDay: dayMachine,
}

// EventNames returns the names of the events that records of the kind have; nil if they do not belong to this package.
func EventNames(kind ledger.Kind) []Action {
	if m, ok := machines[kind]; ok {
		return m.Events()
	}
	return nil
}

// States returns the states that records of the kind have; nil if they do not belong to this package.
func States(kind ledger.Kind) []State {
	if m, ok := machines[kind]; ok {
		return slices.DeleteFunc(m.States(), func(s State) bool { return s == absent })
	}
	return nil
}
