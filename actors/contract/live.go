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

// act is an action that is sent to its contract's actor.
type act struct {
	Act
	done chan answer
}

// afterOverdue is an action that waits until the contract's overdue due dates are handled.
type afterOverdue struct{ *act }

type answer struct {
	result Result
	err    error
}

// Refuse implements actors.Refusable.
func (m *act) Refuse(err error) { m.answer(answer{err: err}) }

func (m *act) answer(a answer) {
	select {
	case m.done <- a:
	default: // it already has a result
	}
}

// contractActor is the actor of one contract.
type contractActor struct {
	service *Service
	key     actors.RecordKey
	record  *contract.Record // nil: not loaded
	stamp   posting.Stamp

	decision contract.Decision // the decision that is being made durable
	cause    any               // the message that caused the decision; it is decided again if the writer refuses
}

// Receive implements actors.Behaviour.
func (l *contractActor) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case *act:
		l.act(c, m)
	case actors.Due:
		l.due(c, m)
	default:
		panic(fmt.Sprintf("contract: unexpected message %T", m))
	}
}

// Idle implements actors.Behaviour.
func (l *contractActor) Idle() bool { return true }

// Failed implements actors.Behaviour.
func (l *contractActor) Failed(*actors.Context) {
	if m := waitingAct(l.cause); m != nil {
		m.Refuse(ledger.Refuse("contract", ledger.Internal, "an internal error; read the contract"))
	}
}

// waitingAct returns the action whose caller waits; nil if no caller waits.
func waitingAct(cause any) *act {
	switch m := cause.(type) {
	case *act:
		return m
	case afterOverdue:
		return m.act
	}
	return nil
}

// load reads the contract from the store; false if it does not exist.
func (l *contractActor) load() bool {
	if l.record != nil {
		return true
	}
	view := l.service.rt.Journal.View()
	defer view.Close()
	r, found, err := Load(view, l.key.Org, l.key.ID)
	if err != nil {
		panic(err)
	}
	if found {
		l.record, l.stamp = r.Record, r.Stamp
		l.record.Booked = l.stamp.Updated
	}
	return found
}

func (l *contractActor) act(c *actors.Context, m *act) {
	if !l.load() || l.record.Product != m.Product || l.record.Reading != m.Reading {
		m.Refuse(unknown())
		return
	}
	now := ledger.MicrosOf(c.Now())
	l.readRegister(contract.Batch, nil)
	if d, due := l.record.OnDue(now); due {
		l.commit(c, d, afterOverdue{m}) // what is overdue is handled before the action
		return
	}
	l.readRegister(m.Action, m.Input)
	d, err := l.record.Act(m.Action, m.Input, now)
	if err != nil {
		m.Refuse(err)
		return
	}
	l.commit(c, d, m)
}

// due handles the record's due instant. It ignores a message for any other instant.
func (l *contractActor) due(c *actors.Context, m actors.Due) {
	if !l.load() || l.stamp.Due != m.At {
		return // the record's due instant has changed since
	}
	l.readRegister(contract.Batch, nil)
	if d, ok := l.record.OnDue(max(m.At, ledger.MicrosOf(c.Now()))); ok {
		l.commit(c, d, m)
	}
}

// readRegister reads the part of the register of holders that the next decision needs. If it disagrees with
// the record's version, the writer refuses the Change.
func (l *contractActor) readRegister(action contract.Action, input schema.Input) {
	l.record.Register = contract.Register{}
	wanted := l.record.RegisterExtract(action, input)
	if wanted == (contract.Extract{}) {
		return
	}
	view := l.service.rt.Journal.View()
	defer view.Close()
	part, err := Extract(view, l.key.Org, l.key.ID, wanted)
	if err != nil {
		panic(err)
	}
	l.record.Register = part
}

func (l *contractActor) commit(c *actors.Context, d contract.Decision, cause any) {
	change := changeOf(l.key.Org, &d, l.stamp.Version)
	if m, ok := cause.(*act); ok {
		if err := l.service.addReply(change, &m.Key); err != nil {
			m.Refuse(err)
			return
		}
	}
	l.decision, l.cause = d, cause
	c.Commit(change)
}

// Committed implements actors.Behaviour.
func (l *contractActor) Committed(c *actors.Context, _ *posting.Change, r posting.Receipt) {
	d, cause := l.decision, l.cause
	l.decision, l.cause = contract.Decision{}, nil
	if r.Err != nil {
		l.refused(c, cause, r)
		return
	}
	l.record, l.stamp = d.Record, r.Stamps[0]
	l.record.Booked = l.stamp.Updated
	if m, ok := cause.(afterOverdue); ok {
		l.act(c, m.act)
		return
	}
	if m, ok := cause.(*act); ok {
		m.answer(answer{result: shownAt(l.record, l.stamp, l.stamp.Updated)})
	}
	if l.stamp.Due != 0 && l.stamp.Due <= ledger.MicrosOf(c.Now()) {
		l.due(c, actors.Due{Key: l.key, At: l.stamp.Due}) // while the clock stands still, nothing else would wake the contract
	}
}

// refused decides again if the writer refused the Change because the record has a newer version. Every
// other refusal goes to the caller.
func (l *contractActor) refused(c *actors.Context, cause any, r posting.Receipt) {
	var refusal *ledger.Refusal
	if errors.As(r.Err, &refusal) && refusal.Code == ledger.StaleVersion {
		l.record = nil
		if m, ok := cause.(actors.Due); ok {
			l.due(c, m)
		} else {
			l.act(c, waitingAct(cause))
		}
		return
	}
	if m := waitingAct(cause); m != nil {
		m.Refuse(refusedBy(r))
	}
}
