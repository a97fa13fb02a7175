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

// transaction is the actor that makes the decisions on one transaction and calls the provider for it.
type transaction struct {
	service *Service
	key     actors.RecordKey
	record  *payment.Record      // nil if not loaded or not created yet
	header  posting.RecordHeader // the record's metadata in the store, such as its version and due instant

	create            *createMessage      // the request to create the transaction; nil once its Change is durable or refused
	admission         admission.Admission // the checks before the charge; empty once their Change is durable
	delayedDue        *actors.Due         // due work that arrived while the velocity limits were being checked
	input             transientInput
	decision          payment.Decision // the decision being made durable; afterwards only its reused Counters
	cause             any              // the message being decided on; handled again if the writer refuses the decision
	stashedOperations []*operation     // operations that wait until the provider answers the call in progress
	waiters           []*caller        // callers that wait for the first outcome
	waiterMemory      [1]*caller       // memory for waiters, enough for one; more are rare
	deferred          deferredReports
	origin            origin
}

// transientInput holds values that are passed to the provider and never stored.
type transientInput struct {
	card     *secret.Card // kept until no provider needs the card
	browser  []byte       // browser_data; kept until the provider has received it
	material []byte       // the data that the payer's side submitted; kept until the provider has received it
}

// wipe overwrites the secrets and drops all fields.
func (s *transientInput) wipe() {
	s.card.Wipe()
	clear(s.material)
	*s = transientInput{}
}

// deferredReports holds reports and updates that the rail sent while a provider call was in progress or a
// decision was being made durable.
type deferredReports struct {
	lateSettlement *providerReport // a report that the charge succeeded after all
	reversal       *providerReport // a report of money taken back, during a refund or before the settlement is known
	update         *providerUpdate // the latest update; because of it, the provider is asked again
}

// maxStashed bounds the number of operations that wait for one answer of the provider.
const maxStashed = 64

// Receive implements actors.Behaviour.
func (t *transaction) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case *createMessage:
		t.beginCreate(c, m)
	case velocityResult:
		t.onVelocity(c, m)
	case fundsResult:
		t.onFunds(c, m.covered)
	case *providerAnswer:
		t.onProviderAnswer(c, m)
	case actors.Due:
		t.onDue(c, m)
	case *operation:
		t.operate(c, m)
	case *awaitMessage:
		t.await(c, m)
	case providerReport:
		t.onReport(c, m)
	case *providerUpdate:
		t.onProviderUpdate(c, m)
	case renewMessage:
		t.renew(c, m)
	case *lateAttempt:
		t.settleAttempt(c, m)
	default:
		panic(fmt.Sprintf("payment: unexpected message %T", m))
	}
	t.resume(c)
}

// resume handles the messages that were kept until the provider's answer was durable. An operation
// stays in the queue while it is handled, so that after a panic Failed answers it too.
func (t *transaction) resume(c *actors.Context) {
	t.resumeDeferred(c)
	for len(t.stashedOperations) > 0 && c.Expecting() == 0 && !c.Committing() {
		t.operate(c, t.stashedOperations[0])
		t.stashedOperations = slices.Delete(t.stashedOperations, 0, 1)
	}
}

// Idle implements actors.Behaviour.
func (t *transaction) Idle() bool {
	t.dropStoppedWaiters()
	return t.create == nil && len(t.waiters) == 0 && t.deferred.lateSettlement == nil && t.deferred.reversal == nil && len(t.stashedOperations) == 0
}

// dropStoppedWaiters removes the callers that have stopped waiting.
func (t *transaction) dropStoppedWaiters() {
	t.waiters = slices.DeleteFunc(t.waiters, func(w *caller) bool { return w.stoppedWaiting.Load() })
}

// Failed implements actors.Behaviour.
func (t *transaction) Failed(*actors.Context) {
	t.input.wipe()
	failure := ledger.Refuse("payment", ledger.Internal, "an internal error; read the transaction or repeat its txid")
	if t.create != nil {
		t.create.Refuse(failure)
	}
	if m, ok := t.cause.(*operation); ok {
		m.Refuse(failure)
	}
	for _, m := range t.stashedOperations {
		m.Refuse(failure)
	}
	for _, w := range t.waiters {
		w.Answer(reply{err: failure})
	}
	for _, m := range []*providerReport{t.deferred.lateSettlement, t.deferred.reversal} {
		if m != nil {
			t.service.registry.Tell(t.key, *m)
		}
	}
}

// observeStatus reports the change of status that a decision has made durable.
func (t *transaction) observeStatus(d *payment.Decision) {
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

// onDue handles due work at the record's due instant or, after a restart, earlier. If the provider has
// answered "unknown reference", onDue does not ask again before the due instant, because the call may
// still be on its way to the provider.
func (t *transaction) onDue(c *actors.Context, m actors.Due) {
	if t.admission.AwaitsVelocity() {
		t.delayedDue = &m
		return
	}
	if !t.load() || t.header.Due != m.At || c.Expecting() > 0 {
		return // the due instant has changed, or an answer is expected
	}
	isEarly := m.At > ledger.MicrosOf(c.Now())
	ask, d, decided := t.decisionContext(c).OnDue(t.record, isEarly, uuid.New())
	if decided {
		t.commit(c, d, m)
		return
	}
	if ask == payment.NoRequest || isEarly && t.record.ReportedUnknown() {
		return
	}
	err := t.callProvider(c, ask, isEarly)
	switch {
	case err == nil:
	case !errors.Is(err, actors.ErrBusy):
		t.logNotAsked(err)
	case !isEarly: // early due work needs no Postpone, because it is handled again at its due instant
		c.Runtime.Postpone(ledger.Transaction, m)
	}
}

// resumeDue handles the due work that arrived while the velocity limits were being checked.
func (t *transaction) resumeDue(c *actors.Context) {
	if m := t.delayedDue; m != nil {
		t.delayedDue = nil
		t.onDue(c, *m)
	}
}

// logNotAsked logs that a provider could not be asked. The transaction's due work is handled again
// later.
func (t *transaction) logNotAsked(err error) {
	if t.service.rt.Journal.IsElsewhere(t.key.Org) {
		return // another shard asks
	}
	t.service.rt.Log.Error("a provider was not asked", "transaction", t.key.ID.String(), "error", err)
}

// await makes the caller wait until the transaction has a first outcome.
func (t *transaction) await(c *actors.Context, m *awaitMessage) {
	if t.create == nil && !t.load() {
		m.Refuse(ledger.Refuse("payment.Create", ledger.Unavailable, "the transaction is not stored yet"))
		return
	}
	t.dropStoppedWaiters()
	t.waiters = append(t.waiters, &m.caller)
	t.answerWaiters(c)
}

// load reads the record from the store unless the actor has it already. It returns false if the record
// does not exist.
func (t *transaction) load() bool {
	if t.record != nil {
		return true
	}
	result, found, err := t.service.load(t.key.Org, t.key.ID)
	if err != nil {
		panic(err)
	}
	if found {
		t.record, t.header = result.Record, result.Header
		t.recallOrigin()
	}
	return found
}

// decisionContext returns what a decision needs to know besides the record: the time, the timeouts and the due
// instant of the record.
func (t *transaction) decisionContext(c *actors.Context) payment.DecisionContext {
	s := t.service
	return payment.DecisionContext{
		Org: t.key.Org, Now: c.Now(), Due: t.header.Due, InquiryTimeout: s.providerTimeout, ActionTTL: s.actionTTL, CounterBuffer: t.decision.Counters[:0],
	}
}

// Committed implements actors.Behaviour: the actor adopts the record that is now durable, then calls the
// provider and replies to the callers.
func (t *transaction) Committed(c *actors.Context, _ *posting.Change, r posting.Receipt) {
	decision, cause := t.decision, t.cause
	if r.Err != nil {
		t.onRefusal(c, cause, r)
		if !c.Committing() {
			t.decision = payment.Decision{}
			if !t.admission.AwaitsVelocity() {
				t.cause = nil
			}
		}
		t.resume(c)
		return
	}
	t.decision, t.cause, t.delayedDue = payment.Decision{Counters: decision.Counters}, nil, nil // the Counters are free now
	if t.admission.State() != "" {
		t.admission = admission.Admission{}
	}
	if m := t.create; m != nil {
		t.create = nil
		t.waiters = append(t.waiters, &m.caller)
	}
	if m, ok := cause.(*operation); ok {
		t.waiters = append(t.waiters, &m.caller)
	}
	t.observeStatus(&decision)
	t.record, t.header = decision.Record, r.Headers[0]
	t.record.FinishedAt = t.header.FinishedAt
	t.callAfterCommit(c, decision.ProviderRequest)
	t.keepOrigin()
	t.notifySubscription()
	t.answerWaiters(c)
	t.resume(c)
}

// callAfterCommit makes the provider call that the durable decision requires. If the provider's last
// answer was "unknown reference", callAfterCommit does not inquire: the next inquiry is made at the due
// instant.
func (t *transaction) callAfterCommit(c *actors.Context, ask payment.ProviderRequest) {
	if ask != payment.SubmitCharge && ask != payment.SubmitOperation {
		t.input.wipe() // no later call needs the card
	}
	if ask == payment.NoRequest || ask == payment.InquireCharge && t.record.ReportedUnknown() {
		return
	}
	if err := t.callProvider(c, ask, false); err != nil {
		t.input.wipe()
		if t.service.rt.Journal.IsElsewhere(t.key.Org) {
			t.abort(nil, posting.ErrElsewhere) // nothing more happens to the transaction here
			return
		}
		t.logNotAsked(err) // the inquiry at the due instant will show that nothing was submitted
	}
}

// onRefusal is called if the writer has refused a decision. It handles the decision's message once more.
func (t *transaction) onRefusal(c *actors.Context, cause any, r posting.Receipt) {
	var refusal *ledger.Refusal
	if !errors.As(r.Err, &refusal) {
		t.abort(cause, r.Err)
		return
	}
	if refusal.Code == ledger.StaleVersion {
		t.record = nil // the record has changed meanwhile, so the decision is made again on the stored record
	}
	switch m := cause.(type) {
	case *createMessage:
		t.createRefused(c, m, refusal, r)
	case *operation:
		t.operationRefused(c, m, refusal, r)
	case *failover:
		t.failoverRefused(c, m, r)
	case *providerAnswer:
		t.onProviderAnswer(c, m)
	case actors.Due:
		t.onDue(c, m)
	case providerReport:
		t.onReport(c, m)
	case *lateAttempt:
		t.settleAttempt(c, m)
	default:
		t.abort(cause, refusal)
	}
}

// abort ends the checks before the charge, and answers all waiting callers with the error that prevented the storing.
func (t *transaction) abort(cause any, err error) {
	t.input.wipe()
	t.uncountAttempt()
	t.admission = admission.Admission{}
	if t.create != nil {
		t.create.Refuse(err)
		t.create = nil
	}
	if m, ok := cause.(*operation); ok {
		m.Refuse(err)
	}
	for _, w := range t.waiters {
		w.Answer(reply{err: err})
	}
	t.waiters = nil
}

// answerWaiters replies to the waiting callers once there is a first outcome. The caller of a cancel gets an
// error if the charge has settled.
func (t *transaction) answerWaiters(c *actors.Context) {
	if t.record == nil || t.create != nil || !t.record.HasAnswer() || len(t.waiters) == 0 {
		return
	}
	r := reply{result: Result{Record: t.record, Header: t.header}}
	t.waiters = slices.DeleteFunc(t.waiters, func(w *caller) bool {
		switch {
		case w.waitsForCall && (c.Expecting() > 0 || c.Committing()):
			return false
		case w.isCancel && t.record.Status == payment.Charged:
			w.Answer(reply{err: errSettledFirst()})
		default:
			w.Answer(r)
		}
		return true
	})
}
