package directory

import (
	"fmt"
	"log/slog"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// command is the message that asks an organization's actor to make a decision, and to make this decision durable.
type command struct {
	op      string
	decide  func(now ledger.Micros) (*posting.Change, error)
	publish func([]posting.RecordHeader) // called with the headers of the written records
	reply   chan error                   // receives the command's result; its capacity is 1
	done    func(error)                  // called with the command's result if no caller waits; may be called twice
}

// Refuse implements actors.Refusable.
func (m *command) Refuse(err error) { m.answer(err) }

// answer sends the command's result to the caller. It never blocks, because the caller may no longer wait, or may
// already have an answer.
func (m *command) answer(err error) {
	if m.done != nil {
		m.done(err)
		return
	}
	select {
	case m.reply <- err:
	default:
	}
}

// LogValue implements slog.LogValuer.
func (m *command) LogValue() slog.Value { return slog.StringValue(m.op) }

// reload is a message that makes the actor read the organization's records from the store into the view (the
// records in memory) again.
type reload struct{}

// organizationActor is the actor of one organization, or of the platform. Its state is the organization's part
// of the view, which only this actor writes.
type organizationActor struct {
	service *Service
	org     ledger.ID
	pending *command // the command whose Change is being made durable
}

// Receive implements actors.Behaviour.
func (a *organizationActor) Receive(c *actors.Context, message any) {
	if err := a.repair(); err != nil {
		a.service.rt.Log.Error("the directory can't be read again", "organization", a.org, "error", err)
		if m, ok := message.(actors.Refusable); ok {
			m.Refuse(ledger.Refuse("directory", ledger.Internal, "an internal error; nothing was done"))
		}
		return
	}
	switch m := message.(type) {
	case *command:
		a.decide(c, m)
	case *useWrite:
		a.decide(c, m.command)
	case reload:
		// nothing to do, because repair has already reloaded the view
	default:
		a.service.rt.Log.Error("unexpected message", "actor", "directory", "type", fmt.Sprintf("%T", m))
	}
}

func (a *organizationActor) decide(c *actors.Context, m *command) {
	change, err := m.decide(ledger.MicrosOf(c.Now()))
	if err != nil || change == nil {
		m.answer(err)
		return
	}
	a.pending = m
	c.Commit(change)
}

// Committed implements actors.Behaviour.
func (a *organizationActor) Committed(_ *actors.Context, _ *posting.Change, receipt posting.Receipt) {
	m := a.pending
	switch {
	case receipt.Err == nil:
		m.publish(receipt.Headers)
	case ledger.IsRefusal(receipt.Err, ledger.StaleVersion):
		// The view and the store disagree, so reload the view before the next decision.
		a.service.mustReload.Store(a.org, true)
	}
	a.pending = nil
	m.answer(receipt.Err)
}

// Idle implements actors.Behaviour.
func (a *organizationActor) Idle() bool { return a.pending == nil }

// Failed implements actors.Behaviour. A committed Change may be durable but not published in the view, so the
// actor reloads the view even if no further command arrives.
func (a *organizationActor) Failed(*actors.Context) {
	a.service.mustReload.Store(a.org, true)
	if a.pending != nil {
		a.pending.answer(ledger.Refuse(a.pending.op, ledger.Internal, "an internal error; the requested change may or may not be done"))
	}
	a.service.registry.Tell(a.org, reload{})
}

// repair reads the organization's part of the view from the store again if a failure makes this necessary. While
// repair runs, no Change is in progress, because messages wait until a Change is durable.
func (a *organizationActor) repair() error {
	if _, needsReload := a.service.mustReload.Load(a.org); !needsReload {
		return nil
	}
	if err := a.service.reload(a.org); err != nil {
		return err
	}
	a.service.mustReload.Delete(a.org)
	return nil
}
