package payment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// transaction is the actor of one live transaction.
type transaction struct {
	service *Service
	key     actors.RecordKey
	record  *payment.Record // nil: not loaded, or not created yet
	stamp   posting.Stamp

	create   *create          // until its Change is durable or refused
	card     *secret.Card     // until the provider has it
	decision payment.Decision // being made durable
	cause    any              // the message that led to it, to decide again
	waiters  []*caller
	taken    *reversed // settled money was taken back before we heard that it had settled
}

// Receive implements actors.Behaviour.
func (t *transaction) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case *create:
		t.begin(c, m)
	case admitted:
		t.admitted(c, m.ok)
	case outcome:
		t.heard(c, m)
	case actors.Due:
		t.due(c, m)
	case *await:
		t.await(m)
	case reversed:
		t.reversed(c, m)
	default:
		panic(fmt.Sprintf("payment: unexpected message %T", m))
	}
}

// Idle implements actors.Behaviour.
func (t *transaction) Idle() bool {
	t.forget()
	return t.create == nil && len(t.waiters) == 0 && t.taken == nil
}

// forget lets those go who wait no more.
func (t *transaction) forget() {
	t.waiters = slices.DeleteFunc(t.waiters, func(w *caller) bool { return w.gone.Load() })
}

// Failed implements actors.Behaviour.
func (t *transaction) Failed(*actors.Context) {
	t.card.Wipe()
	failure := ledger.Refuse("payment", ledger.Internal, "an internal error; read the transaction or repeat its txid")
	if t.create != nil {
		t.create.Refuse(failure)
	}
	for _, w := range t.waiters {
		w.answer(reply{err: failure})
	}
	if t.taken != nil {
		t.service.registry.Tell(t.key, *t.taken)
	}
}

// begin decides on a create, in the order of refusals: what it lacks, a
// terminal, and for a payout its account's admission.
func (t *transaction) begin(c *actors.Context, m *create) {
	t.create, t.card = m, m.Card
	if reason := payment.Unacceptable(&m.Request); reason != "" {
		t.reject(c, reason)
		return
	}
	terms, found := t.service.terms(&m.Create)
	if !found {
		t.reject(c, payment.NoTerminal)
		return
	}
	t.decision = t.at(c).Create(m.id, m.Partner.Number, m.Request, terms)
	if len(t.decision.Funds) == 0 {
		t.commit(c, m)
		return
	}
	g := &t.decision.Funds[0]
	service, key := t.service, t.key
	service.admission.Admit(g.Org, g.Account, t.decision.Record.WithFee, g.Overdraft, func(ok bool) {
		service.registry.Tell(key, admitted{ok})
	})
	c.Expect()
}

func (t *transaction) admitted(c *actors.Context, ok bool) {
	if t.create == nil {
		return // answered by a panic meanwhile
	}
	if !ok {
		t.reject(c, payment.InsufficientBalance)
		return
	}
	t.commit(c, t.create)
}

// moved tells of the status that a durable decision leads to.
func (t *transaction) moved(d *payment.Decision) {
	observe := t.service.observe
	if observe == nil {
		return
	}
	if t.record == nil || t.record.Status != d.Record.Status {
		observe(d.Record.Type, d.Record.Status)
	}
	if d.Return != nil {
		observe(d.Return.Record.Type, d.Return.Record.Status)
	}
}

func (t *transaction) reject(c *actors.Context, reason string) {
	m := t.create
	t.decision = t.at(c).Reject(m.id, m.Partner.Number, m.Request, reason)
	t.commit(c, m)
}

// heard decides on a provider's answer.
func (t *transaction) heard(c *actors.Context, m outcome) {
	if !t.load() {
		return
	}
	d, ok := t.at(c).Answered(t.record, toAnswer(m.Outcome))
	if !ok {
		if s := t.record.Status; m.Verdict == actors.VerdictCharged && s != payment.Charged && s != payment.Reversed {
			t.service.rt.Log.Error("money moved for a transaction that is closed", "transaction", t.key.ID.String(), "status", string(s))
		}
		return
	}
	t.decision = d
	t.commit(c, m)
}

// due wakes the transaction at the instant that it asked for, or earlier, after
// a restart. What the provider did not know yet is never asked earlier: the
// call may still be on its way to it.
func (t *transaction) due(c *actors.Context, m actors.Due) {
	if !t.load() || t.stamp.Due != m.At || c.Expecting() > 0 {
		return // it has moved on, or an answer is on its way
	}
	early := m.At > ledger.MicrosOf(c.Now())
	if payment.Woken(t.record) != payment.AskInquire || early && t.record.Unheard > 0 {
		return
	}
	err := t.ask(c, payment.AskInquire)
	switch {
	case err == nil:
	case !errors.Is(err, actors.ErrBusy):
		t.unasked(err)
	case !early: // what was woken early comes again at its instant
		c.Runtime.Postpone(ledger.Transaction, m)
	}
}

// unasked says that a transaction stands still. Its due work comes again.
func (t *transaction) unasked(err error) {
	t.service.rt.Log.Error("a provider was not asked", "transaction", t.key.ID.String(), "error", err)
}

func (t *transaction) await(m *await) {
	if t.create == nil && !t.load() {
		m.Refuse(ledger.Refuse("payment.Create", ledger.Unavailable, "the transaction is not stored yet"))
		return
	}
	t.forget()
	t.waiters = append(t.waiters, m.caller)
	t.answer()
}

func (t *transaction) reversed(c *actors.Context, m reversed) {
	if !t.load() {
		return
	}
	t.taken = nil
	if d, ok := t.at(c).Reversed(t.record, t.stamp.Settled, uuid.New(), m.reason); ok {
		t.decision = d
		t.commit(c, m)
	} else if !t.record.Status.Final() {
		t.taken = &m
	}
}

// load brings the state back from the store; false: there is none.
func (t *transaction) load() bool {
	if t.record != nil {
		return true
	}
	result, found, err := t.service.load(t.key.Org, t.key.ID)
	if err != nil {
		panic(err)
	}
	if found {
		t.record, t.stamp = result.Record, result.Stamp
	}
	return found
}

// at is what a decision may know now.
func (t *transaction) at(c *actors.Context) payment.Case {
	return payment.Case{Org: t.key.Org, Now: c.Now(), Inquire: t.service.inquire}
}

// Committed implements actors.Behaviour: the state moves, then what follows
// from it is let out.
func (t *transaction) Committed(c *actors.Context, _ *posting.Change, r posting.Receipt) {
	d, cause := t.decision, t.cause
	t.decision, t.cause = payment.Decision{}, nil
	if r.Err != nil {
		t.refused(c, cause, r)
		return
	}
	t.moved(&d)
	t.record, t.stamp = d.Record, r.Stamps[0]
	t.record.Finished = t.stamp.Finished
	if m := t.create; m != nil {
		t.create = nil
		t.waiters = append(t.waiters, m.caller)
	}
	if d.Ask != payment.AskNothing {
		if err := t.ask(c, d.Ask); err != nil {
			t.unasked(err) // the due instant finds that nothing was submitted
		}
	} else {
		t.card.Wipe()
		t.card = nil
	}
	t.answer()
	if t.taken != nil && t.record.Status.Final() {
		t.reversed(c, *t.taken)
	}
}

// refused decides again on what the writer refused.
func (t *transaction) refused(c *actors.Context, cause any, r posting.Receipt) {
	var refusal *ledger.Refusal
	if !errors.As(r.Err, &refusal) {
		t.giveUp(r.Err)
		return
	}
	switch refusal.Code {
	case ledger.ClaimTaken:
		t.card.Wipe()
		id, err := uuid.FromBytes(r.Owner)
		t.create.answer(reply{existing: id, err: err})
		t.create = nil
	case ledger.InsufficientFunds:
		t.reject(c, payment.InsufficientBalance)
	case ledger.OutOfRange:
		t.reject(c, payment.AmountOutOfRange)
	case ledger.StaleVersion:
		t.record = nil // somebody else moved it: decide again on what is stored
		switch m := cause.(type) {
		case outcome:
			t.heard(c, m)
		case reversed:
			t.reversed(c, m)
		default:
			t.giveUp(refusal) // the random id of a new record is in use
		}
	default:
		t.giveUp(refusal)
	}
}

// giveUp answers whoever waits for what could not be stored.
func (t *transaction) giveUp(err error) {
	if t.create != nil {
		t.create.Refuse(err)
		t.create, t.card = nil, nil
	}
	for _, w := range t.waiters {
		w.answer(reply{err: err})
	}
	t.waiters = nil
}

// answer replies to everybody who waits, once there is a first outcome.
func (t *transaction) answer() {
	if t.record == nil || t.create != nil || !t.record.Answered() {
		return
	}
	for _, w := range t.waiters {
		w.answer(reply{result: Result{Record: t.record, Stamp: t.stamp}})
	}
	t.waiters = nil
}
