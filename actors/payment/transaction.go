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
	"mizan/ledger/payment/admission"
	"mizan/posting"
)

// transaction is the actor of one live transaction.
type transaction struct {
	service *Service
	key     actors.RecordKey
	record  *payment.Record // nil: not loaded, or not created yet
	stamp   posting.Stamp

	create     *create             // until its Change is durable or refused
	admission  admission.Admission // until its Change is durable
	overdue    *actors.Due         // came while the velocity limits were asked
	submission submission
	decision   payment.Decision // being made durable; afterwards only its Counters, as room for the next one's
	cause      any              // the message that is being admitted, or that led to the decision: to decide again
	stashed    []*operation     // wait for the provider's answer to what is under way
	waiters    []*caller
	deferred   deferred
}

// submission is what is passed on to the provider and never stored.
type submission struct {
	card     *secret.Card // until no provider needs it
	browser  []byte       // browser_data, until the provider has it
	material []byte       // what the payer's side submitted, until the provider has it
}

// wipe overwrites what is secret and forgets all of it.
func (s *submission) wipe() {
	s.card.Wipe()
	clear(s.material)
	*s = submission{}
}

// deferred is what a rail reported while something else was under way.
type deferred struct {
	settled *reported       // money has moved after all
	taken   *reported       // settled money was taken back, before we knew that it had settled or beside a refund
	update  *providerUpdate // the provider is to be asked again
}

// maxStashed bounds the operations that wait for one answer.
const maxStashed = 64

// Receive implements actors.Behaviour.
func (t *transaction) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case *create:
		t.begin(c, m)
	case velocityResult:
		t.velocity(c, m)
	case fundsResult:
		t.funds(c, m.covered)
	case outcome:
		t.heard(c, m)
	case actors.Due:
		t.due(c, m)
	case *operation:
		t.operate(c, m)
	case *await:
		t.await(c, m)
	case reported:
		t.reported(c, m)
	case *providerUpdate:
		t.hinted(c, m)
	case renew:
		t.renew(c, m)
	default:
		panic(fmt.Sprintf("payment: unexpected message %T", m))
	}
	t.goOn(c)
}

// goOn takes up what waited, once the provider has answered and the answer is
// durable. An operation stays in its queue meanwhile: a panic answers all there.
func (t *transaction) goOn(c *actors.Context) {
	t.takeUp(c)
	for len(t.stashed) > 0 && c.Expecting() == 0 && !c.Committing() {
		t.operate(c, t.stashed[0])
		t.stashed = slices.Delete(t.stashed, 0, 1)
	}
}

// Idle implements actors.Behaviour.
func (t *transaction) Idle() bool {
	t.forget()
	return t.create == nil && len(t.waiters) == 0 && t.deferred.settled == nil && t.deferred.taken == nil && len(t.stashed) == 0
}

// forget lets those go who wait no more.
func (t *transaction) forget() {
	t.waiters = slices.DeleteFunc(t.waiters, func(w *caller) bool { return w.gone.Load() })
}

// Failed implements actors.Behaviour.
func (t *transaction) Failed(*actors.Context) {
	t.submission.wipe()
	failure := ledger.Refuse("payment", ledger.Internal, "an internal error; read the transaction or repeat its txid")
	if t.create != nil {
		t.create.Refuse(failure)
	}
	if m, ok := t.cause.(*operation); ok {
		m.Refuse(failure)
	}
	for _, m := range t.stashed {
		m.Refuse(failure)
	}
	for _, w := range t.waiters {
		w.answer(reply{err: failure})
	}
	for _, m := range []*reported{t.deferred.settled, t.deferred.taken} {
		if m != nil {
			t.service.registry.Tell(t.key, *m)
		}
	}
}

// moved tells of the status that a durable decision leads to.
func (t *transaction) moved(d *payment.Decision) {
	observe := t.service.observe
	if observe == nil {
		return
	}
	from := payment.Absent
	if t.record != nil {
		from = t.record.Status
	}
	if from != d.Record.Status {
		observe(t.key.Org, from, d.Record)
	}
	if d.Return != nil {
		observe(t.key.Org, payment.Absent, d.Return.Record)
	}
}

// due wakes the transaction at the instant that it asked for, or earlier, after
// a restart. What the provider did not know yet is never asked earlier: the
// call may still be on its way to it.
func (t *transaction) due(c *actors.Context, m actors.Due) {
	if t.admission.Waits() {
		t.overdue = &m
		return
	}
	if !t.load() || t.stamp.Due != m.At || c.Expecting() > 0 {
		return // it has moved on, or an answer is on its way
	}
	early := m.At > ledger.MicrosOf(c.Now())
	ask, d, decided := t.at(c).Woken(t.record, early, uuid.New())
	if decided {
		t.commit(c, d, m)
		return
	}
	if ask == payment.AskNothing || early && t.record.NotKnown() {
		return
	}
	err := t.ask(c, ask, early)
	switch {
	case err == nil:
	case !errors.Is(err, actors.ErrBusy):
		t.unasked(err)
	case !early: // what was woken early comes again at its instant
		c.Runtime.Postpone(ledger.Transaction, m)
	}
}

// resumeDue takes up the due work that came while the velocity limits were asked.
func (t *transaction) resumeDue(c *actors.Context) {
	if m := t.overdue; m != nil {
		t.overdue = nil
		t.due(c, *m)
	}
}

// unasked says that a transaction stands still. Its due work comes again.
func (t *transaction) unasked(err error) {
	t.service.rt.Log.Error("a provider was not asked", "transaction", t.key.ID.String(), "error", err)
}

func (t *transaction) await(c *actors.Context, m *await) {
	if t.create == nil && !t.load() {
		m.Refuse(ledger.Refuse("payment.Create", ledger.Unavailable, "the transaction is not stored yet"))
		return
	}
	t.forget()
	t.waiters = append(t.waiters, m.caller)
	t.answer(c)
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
	s := t.service
	return payment.Case{
		Org: t.key.Org, Now: c.Now(), Due: t.stamp.Due, Inquire: s.inquire, ActionTTL: s.actionTTL, Room: t.decision.Counters[:0],
	}
}

// Committed implements actors.Behaviour: the state moves, then what follows
// from it is let out.
func (t *transaction) Committed(c *actors.Context, _ *posting.Change, r posting.Receipt) {
	d, cause := t.decision, t.cause
	if r.Err != nil {
		t.refused(c, cause, r)
		if !c.Committing() {
			t.decision = payment.Decision{}
			if !t.admission.Waits() {
				t.cause = nil
			}
		}
		t.goOn(c)
		return
	}
	t.decision, t.cause, t.overdue = payment.Decision{Counters: d.Counters}, nil, nil // the writer is done with them
	if t.admission.State() != "" {
		t.admission = admission.Admission{}
	}
	if m := t.create; m != nil {
		t.create = nil
		t.waiters = append(t.waiters, m.caller)
	}
	if m, ok := cause.(*operation); ok {
		t.waiters = append(t.waiters, m.caller)
	}
	t.moved(&d)
	t.record, t.stamp = d.Record, r.Stamps[0]
	t.record.Finished = t.stamp.Finished
	t.follow(c, d.Ask)
	t.renewed()
	t.answer(c)
	t.goOn(c)
}

// follow asks the provider what the durable decision wants to know. What it did
// not know yet it is only asked when that is due.
func (t *transaction) follow(c *actors.Context, ask payment.Ask) {
	if ask != payment.AskSubmit && ask != payment.AskOp {
		t.submission.wipe() // nobody else needs the card
	}
	if ask == payment.AskNothing || ask == payment.AskInquire && t.record.NotKnown() {
		return
	}
	if err := t.ask(c, ask, false); err != nil {
		t.submission.wipe()
		t.unasked(err) // the due instant finds that nothing was submitted
	}
}

// refused decides again on what the writer refused.
func (t *transaction) refused(c *actors.Context, cause any, r posting.Receipt) {
	var refusal *ledger.Refusal
	if !errors.As(r.Err, &refusal) {
		t.giveUp(cause, r.Err)
		return
	}
	if refusal.Code == ledger.StaleVersion {
		t.record = nil // somebody else moved it: decide again on what is stored
	}
	switch m := cause.(type) {
	case *create:
		t.createRefused(c, m, refusal, r)
	case *operation:
		t.operationRefused(c, m, refusal, r)
	case *failover:
		t.failoverRefused(c, m, r)
	case outcome:
		t.heard(c, m)
	case actors.Due:
		t.due(c, m)
	case reported:
		t.reported(c, m)
	default:
		t.giveUp(cause, refusal)
	}
}

// giveUp answers whoever waits for what could not be stored.
func (t *transaction) giveUp(cause any, err error) {
	t.submission.wipe()
	t.uncount()
	t.admission = admission.Admission{}
	if t.create != nil {
		t.create.Refuse(err)
		t.create = nil
	}
	if m, ok := cause.(*operation); ok {
		m.Refuse(err)
	}
	for _, w := range t.waiters {
		w.answer(reply{err: err})
	}
	t.waiters = nil
}

// answer replies to everybody who waits, once there is a first outcome. Who
// cancels also wants to know why it was not granted.
func (t *transaction) answer(c *actors.Context) {
	if t.record == nil || t.create != nil || !t.record.Answered() || len(t.waiters) == 0 {
		return
	}
	r := reply{result: Result{Record: t.record, Stamp: t.stamp}}
	t.waiters = slices.DeleteFunc(t.waiters, func(w *caller) bool {
		switch {
		case w.patient && (c.Expecting() > 0 || c.Committing()):
			return false
		case w.cancels && t.record.Status == payment.Charged:
			w.answer(reply{err: settledFirst()})
		default:
			w.answer(r)
		}
		return true
	})
}
