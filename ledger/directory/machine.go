package directory

import (
	"mizan/ledger"
	"mizan/ledger/fsm"
)

// State is a record's state in the journal. For an organization it is the OrgStatus.
type State string

// States of partners, users, terminals, keys, sessions, limits, blocklist entries, settlements, cached
// replies and the platform.
const (
	StateActive      State = "active"
	StateInactive    State = "inactive"
	StateRevoked     State = "revoked"
	StateSettled     State = "settled"
	StateOpen        State = "open"
	StateReplyStored State = "given"
)

// Action is the name of a record's event in the journal.
type Action string

// The actions. The first event of a record is Create, Settle or StoreReply.
const (
	Create     Action = "create"
	Update     Action = "update"
	Activate   Action = "activate"
	Deactivate Action = "deactivate"
	Withdraw   Action = "withdraw"
	Suspend    Action = "suspend"
	Archive    Action = "archive"
	Revoke     Action = "revoke"
	Use        Action = "use"    // a key or session was used; only some uses are recorded
	Rotate     Action = "rotate" // a new administration token replaced others
	Settle     Action = "settle"
	StoreReply Action = "give"
)

// Step is a transition in the table of a state machine. To is the new state, and Why is the reason, which reports show.
type Step struct {
	To  State
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() State { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

type (
	machine = *fsm.Machine[State, Action, Step]
	table   = fsm.Table[State, Action, Step]
)

// The states of organizations.
const (
	orgProvisioning = State(Provisioning)
	orgActive       = State(Active)
	orgMaintenance  = State(Maintenance)
	orgArchived     = State(Archived)
)

// Steps that the tables below use.
var (
	updateActiveStep = Step{StateActive, "its fields changed"}
	withdrawStep     = Step{orgProvisioning, "it is being set up again: nobody gets in"}
	activateStep     = Step{orgActive, "its keys and sessions are taken"}
	suspendStep      = Step{orgMaintenance, "nobody gets in until it is active again"}
	archiveStep      = Step{orgArchived, "it is over and never comes back"}
)

var organizationMachine = fsm.MustCompile(
	[]State{orgProvisioning, orgActive, orgMaintenance, orgArchived},
	[]Action{Update, Withdraw, Activate, Suspend, Archive},
	table{
		orgProvisioning: {Update: {orgProvisioning, "its fields changed"}, Activate: activateStep, Suspend: suspendStep, Archive: archiveStep},
		orgActive:       {Update: {orgActive, "its fields changed"}, Withdraw: withdrawStep, Suspend: suspendStep, Archive: archiveStep},
		orgMaintenance:  {Update: {orgMaintenance, "its fields changed"}, Withdraw: withdrawStep, Activate: activateStep, Archive: archiveStep},
		orgArchived:     {Update: {orgArchived, "what is written about it may be corrected"}},
	})

var activationMachine = fsm.MustCompile(
	[]State{StateActive, StateInactive},
	[]Action{Update, Activate, Deactivate},
	table{
		StateActive:   {Update: updateActiveStep, Deactivate: {StateInactive, "switched off; its history stays"}},
		StateInactive: {Update: {StateInactive, "its fields changed"}, Activate: {StateActive, "switched on again"}},
	})

var keyMachine = fsm.MustCompile(
	[]State{StateActive, StateRevoked},
	[]Action{Revoke, Use},
	table{
		StateActive:  {Revoke: {StateRevoked, "taken no more"}, Use: {StateActive, "it was used, which is noted now and then"}},
		StateRevoked: {},
	})

var platformMachine = fsm.MustCompile(
	[]State{StateOpen},
	[]Action{Update, Rotate},
	table{StateOpen: {
		Update: {StateOpen, "a partner number or an administration token was given out"},
		Rotate: {StateOpen, "an administration token was given out, and took the place of others"},
	}})

var settlementMachine = fsm.MustCompile(
	[]State{StateSettled},
	[]Action{Settle},
	table{StateSettled: {Settle: {StateSettled, "the money of another environment"}}})

// lifecycle defines which events a kind of record may have: the action that creates a record, the states in which a new
// record may be, and the state machine of all later actions. If machine is nil, there are no later actions.
type lifecycle struct {
	firstAction Action
	firstStates []State
	machine     machine
}

var lifecycles = map[ledger.Kind]lifecycle{
	ledger.Organization: {Create, []State{orgProvisioning, orgActive, orgMaintenance, orgArchived}, organizationMachine},
	ledger.Partner:      {Create, []State{StateActive, StateInactive}, activationMachine},
	ledger.Terminal:     {Create, []State{StateActive, StateInactive}, activationMachine},
	ledger.APIKey:       {Create, []State{StateActive}, keyMachine},
	ledger.Session:      {Create, []State{StateActive}, keyMachine},
	ledger.User:         {Create, []State{StateActive, StateInactive}, activationMachine},
	ledger.Platform:     {Create, []State{StateOpen}, platformMachine},
	ledger.Limit:        {Create, []State{StateActive, StateInactive}, activationMachine},
	ledger.Block:        {Create, []State{StateActive}, activationMachine},
	ledger.Link:         {Create, []State{StateActive, StateInactive}, activationMachine},
	ledger.Product:      {Create, []State{StateActive, StateInactive}, activationMachine},
	ledger.Image:        {Create, []State{StateActive}, nil},
	ledger.Settlement:   {Settle, []State{StateSettled}, settlementMachine},
	ledger.AdminReply:   {StoreReply, []State{StateReplyStored}, nil},
	ledger.Reply:        {StoreReply, []State{StateReplyStored}, nil},
	ledger.Rate:         {firstAction: Create}, // the state of a rate is its value, which legalRate checks
}

// EventNames returns the names of the events that records of a kind may have in the journal. If another package declares
// the kind, it returns nil.
func EventNames(kind ledger.Kind) []Action {
	l, known := lifecycles[kind]
	if !known {
		return nil
	}
	if kind == ledger.Rate {
		return []Action{l.firstAction, Update} // as in legalRate
	}
	names := []Action{l.firstAction}
	if l.machine != nil {
		names = append(names, l.machine.Events()...)
	}
	return names
}

// States returns the states that records of a kind may have in the journal. For rates it returns none, because the state of
// a rate is its value.
func States(kind ledger.Kind) []State {
	if l := lifecycles[kind]; l.machine != nil {
		return l.machine.States()
	}
	return lifecycles[kind].firstStates
}

// IsLegalTransition tells whether the named event may change a record of this kind from one state to another. For the record's
// first event, from is empty. The checker calls IsLegalTransition for each event of a journal.
func IsLegalTransition(kind ledger.Kind, event, from, to string) bool {
	l, known := lifecycles[kind]
	if !known {
		return false
	}
	if kind == ledger.Rate {
		return legalRate(event, from, to)
	}
	if from == "" {
		for _, state := range l.firstStates {
			if string(state) == to {
				return event == string(l.firstAction)
			}
		}
		return false
	}
	if l.machine == nil {
		return false
	}
	step, ok := l.machine.Next(State(from), Action(event))
	return ok && string(step.To) == to
}

// statusAction returns the action that changes an organization's status to the requested one.
func statusAction(from, to OrgStatus) Action {
	if from == to {
		return Update
	}
	return map[OrgStatus]Action{Provisioning: Withdraw, Active: Activate, Maintenance: Suspend, Archived: Archive}[to]
}

// switchAction returns the action that changes a record which can be switched on and off. wasActive and isActive are the
// values of the record's field Active before and after the change.
func switchAction(wasActive, isActive bool) Action {
	switch {
	case wasActive == isActive:
		return Update
	case isActive:
		return Activate
	}
	return Deactivate
}

func stateOf(isActive bool) State {
	if isActive {
		return StateActive
	}
	return StateInactive
}

// CreatedEvent returns the first event of a record that can be switched on and off.
func CreatedEvent(kind ledger.Kind, id ledger.ID, isActive bool) ledger.Event {
	return createdEvent(kind, id, stateOf(isActive))
}

// SwitchEvent returns the event of a change to a record that can be switched on and off. wasActive and isActive are the
// values of the record's field Active before and after the change.
func SwitchEvent(kind ledger.Kind, id ledger.ID, wasActive, isActive bool) ledger.Event {
	return laterEvent(kind, id, switchAction(wasActive, isActive), stateOf(wasActive), stateOf(isActive))
}

// createdEvent returns a record's first event.
func createdEvent(kind ledger.Kind, id ledger.ID, state State) ledger.Event {
	return ledger.Event{Source: ledger.Source{Kind: kind, ID: id}, Name: string(lifecycles[kind].firstAction), To: string(state)}
}

// laterEvent returns a later event of a record.
func laterEvent(kind ledger.Kind, id ledger.ID, action Action, from, to State) ledger.Event {
	return ledger.Event{Source: ledger.Source{Kind: kind, ID: id}, Name: string(action), From: string(from), To: string(to)}
}
