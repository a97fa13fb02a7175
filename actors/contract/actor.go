package contract

import (
	"errors"
	"fmt"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
	"mizan/posting"
)

// actionMessage is the message that asks a contract's actor for an action.
type actionMessage struct {
	ActionRequest
	actors.Waiter[answer]
}

// delayedAction is an action that waits until the contract's overdue dates are handled.
type delayedAction struct{ *actionMessage }

type answer struct {
	result Result
	err    error
}

// Refuse implements actors.Refusable.
func (m *actionMessage) Refuse(err error) { m.Answer(answer{err: err}) }

// contractActor is the actor of one contract.
type contractActor struct {
	service *Service
	key     actors.RecordKey
	record  *contract.Record // nil if the contract is not loaded
	header  posting.RecordHeader

	decision contract.Decision // the decision that is being made durable
	// cause is the message that caused the decision. It is handled again if the writer refuses the decision with
	// StaleVersion.
	cause any
}

// Receive implements actors.Behaviour.
func (a *contractActor) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case *actionMessage:
		a.onAction(c, m)
	case actors.Due:
		a.handleDue(c, m)
	default:
		panic(fmt.Sprintf("contract: unexpected message %T", m))
	}
}

// Idle implements actors.Behaviour.
func (a *contractActor) Idle() bool { return true }

// Failed implements actors.Behaviour.
func (a *contractActor) Failed(*actors.Context) {
	if m := waitingAction(a.cause); m != nil {
		m.Refuse(ledger.Refuse("contract", ledger.Internal, "an internal error; read the contract"))
	}
}

// waitingAction returns the request for an action that caused a decision, or nil if the cause is a due date, for
// which no caller waits.
func waitingAction(cause any) *actionMessage {
	switch m := cause.(type) {
	case *actionMessage:
		return m
	case delayedAction:
		return m.actionMessage
	}
	return nil
}

// load reads the contract from the store if it is not in memory yet. It returns false if there is no such contract.
func (a *contractActor) load() bool {
	if a.record != nil {
		return true
	}
	view := a.service.rt.Journal.View()
	defer view.Close()
	r, found, err := Load(view, a.key.Org, a.key.ID)
	if err != nil {
		panic(err)
	}
	if found {
		a.record, a.header = r.Record, r.Header
		a.record.Booked = a.header.UpdatedAt
	}
	return found
}

func (a *contractActor) onAction(c *actors.Context, m *actionMessage) {
	if !a.load() || a.record.Product != m.Product || a.record.Reading != m.Reading {
		m.Refuse(unknownContract())
		return
	}
	now := ledger.MicrosOf(c.Now())
	a.readRegister(contract.Batch, nil)
	if d, due := a.record.OnDue(now); due {
		a.commit(c, d, delayedAction{m}) // overdue dates are handled before the action
		return
	}
	a.readRegister(m.Action, m.Input)
	a.record.Caller = m.Caller
	d, err := a.record.Act(m.Action, m.Input, now)
	if err != nil {
		m.Refuse(err)
		return
	}
	a.commit(c, d, m)
}

// handleDue does what is due at the record's due instant. If the message is for another instant, it does nothing.
func (a *contractActor) handleDue(c *actors.Context, m actors.Due) {
	if !a.load() || a.header.Due != m.At {
		return // the record's due instant has changed since the message was sent
	}
	a.readRegister(contract.Batch, nil)
	if d, ok := a.record.OnDue(max(m.At, ledger.MicrosOf(c.Now()))); ok {
		a.commit(c, d, m)
	}
}

// readRegister reads the part of the register of certificate holders that the next decision needs. If the register is
// newer than the record's version, the writer will refuse the Change.
func (a *contractActor) readRegister(action contract.Action, input schema.Input) {
	a.record.Register = contract.Register{}
	query := a.record.RegisterQuery(action, input)
	if query == (contract.RegisterQuery{}) {
		return
	}
	view := a.service.rt.Journal.View()
	defer view.Close()
	register, err := LoadRegister(view, a.key.Org, a.key.ID, query)
	if err != nil {
		panic(err)
	}
	a.record.Register = register
}

func (a *contractActor) commit(c *actors.Context, d contract.Decision, cause any) {
	// only the Change of the action itself has the action's author and reply; if overdue dates are handled first, the
	// author is the system
	m, isAction := cause.(*actionMessage)
	author := ledger.BySystem.Author()
	if isAction {
		author = m.Author
	}
	change := changeOf(a.key.Org, &d, a.header.Version, author)
	if isAction {
		change.Cause = &m.Origin
		if err := a.service.addReply(change, &m.Key); err != nil {
			m.Refuse(err)
			return
		}
	}
	a.decision, a.cause = d, cause
	c.Commit(change)
}

// Committed implements actors.Behaviour.
func (a *contractActor) Committed(c *actors.Context, _ *posting.Change, r posting.Receipt) {
	d, cause := a.decision, a.cause
	a.decision, a.cause = contract.Decision{}, nil
	if r.Err != nil {
		a.handleRefusal(c, cause, r)
		return
	}
	a.record, a.header = d.Record, r.Headers[0]
	a.record.Booked = a.header.UpdatedAt
	if m, ok := cause.(delayedAction); ok {
		a.onAction(c, m.actionMessage)
		return
	}
	if m, ok := cause.(*actionMessage); ok {
		m.Answer(answer{result: resultAt(a.record, a.header, a.header.UpdatedAt)})
	}
	if a.header.Due != 0 && a.header.Due <= ledger.MicrosOf(c.Now()) {
		a.handleDue(c, actors.Due{Key: a.key, At: a.header.Due}) // if the clock stands still, nothing else handles this date
	}
}

// handleRefusal decides again if the writer refused the Change because the record has a newer version. Every
// other refusal goes to the caller.
func (a *contractActor) handleRefusal(c *actors.Context, cause any, r posting.Receipt) {
	var refusal *ledger.Refusal
	if errors.As(r.Err, &refusal) && refusal.Code == ledger.StaleVersion {
		a.record = nil
		if m, ok := cause.(actors.Due); ok {
			a.handleDue(c, m)
		} else {
			a.onAction(c, waitingAction(cause))
		}
		return
	}
	if m := waitingAction(cause); m != nil {
		m.Refuse(translateRefusal(r))
	}
}
