package payment

import (
	"bytes"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
	"mizan/posting"
)

// operate decides on an operation on an existing transaction. The operation waits while a provider's
// answer is expected, because the answer may change which operations are allowed.
func (t *transaction) operate(c *actors.Context, m *operation) {
	if c.Expecting() > 0 {
		if len(t.stashedOperations) >= maxStashed {
			m.Refuse(actors.ErrBusy)
			return
		}
		t.stashedOperations = append(t.stashedOperations, m)
		return
	}
	if !t.load() {
		m.Refuse(errNotFound())
		return
	}
	if !m.begin() {
		m.wipe() // the caller has given up and got the error that the operation was not carried out
		return
	}
	t.origin.replace(m.Origin)
	if m.Attempt != 0 && m.Attempt != t.record.AttemptNumber() {
		t.refuseOperation(m, ledger.Refuse("payment.operate", ledger.Conflict, "the attempt has ended"))
		return
	}
	if m.kind == opContinue {
		t.continueHosted(c, m)
		return
	}
	d, decided, err := t.decide(c, m)
	switch {
	case err != nil:
		t.refuseOperation(m, err)
	case decided:
		m.isCancel = m.cancels()
		m.waitsForCall = m.cancels() || m.kind == opPayerReturned
		t.commit(c, d, m)
	default:
		m.waitsForCall = true
		t.waiters = append(t.waiters, &m.caller)
		t.answerWaiters(c)
	}
}

// refuseOperation replies to an operation that is not allowed. If an earlier request had the same idempotency
// key, the reply is that request's transaction, otherwise the error.
func (t *transaction) refuseOperation(m *operation, err error) {
	existing, repeated, keyErr := t.service.findByKey(t.key.Org, &m.Key)
	switch {
	case keyErr != nil:
		m.Refuse(keyErr)
	case repeated:
		m.wipe()
		m.Answer(reply{existing: existing})
	default:
		m.Refuse(err)
	}
}

// decide makes the operation's decision. If there is nothing to decide, decided is false and the
// operation's caller only waits until the transaction has a first outcome.
func (t *transaction) decide(c *actors.Context, m *operation) (d payment.Decision, decided bool, err error) {
	decider, request := t.decisionContext(c), uuid.New()
	switch m.kind {
	case opRefund:
		d, err = decider.Refund(t.record, m.amount, request)
	case opCancel:
		d, err = decider.Cancel(t.record, request)
	case opPayerCancel:
		d, err = decider.CancelByPayer(t.record, request)
	case opCommit:
		d, err = decider.RequestCapture(t.record, m.amount, request)
	case opComplete:
		if d, err = decider.Submit(t.record, hasTextIn(m.material), request); err == nil {
			t.input.material = m.material
		}
	case opChoose:
		d, err = decider.Choose(t.record, m.bank, request)
	case opPayerReturned:
		return t.onPayerReturned(c, decider, request)
	case opReissue:
		if t.record.ActionIsStale(ledger.MicrosOf(decider.Now), m.onPayerPage) {
			if err := t.callProvider(c, payment.ReissueAction, true); err != nil {
				t.logNotAsked(err) // the next read of the transaction asks the rail again
			}
		}
		return d, false, nil
	}
	return d, err == nil, err
}

// hasTextIn returns a function that reports whether the JSON object has a member with the given name whose
// value is a text that is not blank.
func hasTextIn(object []byte) func(name string) bool {
	return func(name string) bool {
		if len(object) == 0 {
			return false
		}
		for members := jsonwalk.MembersOf(object); ; {
			memberName, value, more := members.Next()
			if !more {
				return false
			}
			if string(memberName) == name {
				text, isText := jsonwalk.Text(value)
				return isText && len(bytes.TrimSpace(text)) > 0
			}
		}
	}
}

// continueHosted handles opContinue: the payer of a hosted transaction has entered credentials on our
// page, so the transaction's admission (the checks before the provider is called) begins.
func (t *transaction) continueHosted(c *actors.Context, m *operation) {
	const op = "payment.Continue"
	switch r := t.record; {
	case r.AwaitsPayer() && t.header.Due <= ledger.MicrosOf(c.Now()), r.Failure.Code == payment.PayerActionExpired:
		t.refuseOperation(m, ledger.Refuse(op, ledger.NotContinuable, "the payer's time is over"))
		return
	case !r.AwaitsPayer():
		t.refuseOperation(m, ledger.Refuse(op, ledger.NotContinuable, "the transaction does not wait for its payer"))
		return
	}
	partner, known := t.service.directory.Partner(t.key.Org, t.record.Partner)
	organization, exists := t.service.directory.Organization(t.key.Org)
	if !known || !exists || !partner.Active || !organization.Active() {
		t.refuseOperation(m, ledger.Refuse(op, ledger.NotContinuable, "the merchant takes no payments at present"))
		return
	}
	continuation := &m.continuation
	if !t.record.Allows(continuation.Credentials.Method) {
		refusal := ledger.Refuse(op, ledger.NotContinuable, "the payment link does not offer the method")
		refusal.Field = "money_storage.type"
		t.refuseOperation(m, refusal)
		return
	}
	request := t.record.Request
	request.Method, request.CardBIN, request.CardFingerprint = continuation.Credentials.Method, continuation.Credentials.CardBIN, continuation.Credentials.CardFingerprint
	request.PayerIP, request.AgreedTotal = continuation.Credentials.PayerIP, continuation.Credentials.AgreedTotal
	if request.Asset.Network == "" {
		request.Asset.Network = continuation.Credentials.Network
	}
	search := admission.TerminalSearch{
		Org: t.key.Org, Partner: partner, Request: &request, Route: continuation.Route, ListedTerminals: t.record.ListedTerminals(), At: ledger.MicrosOf(c.Now()),
		WithoutCard: request.Method == payment.BankCard && continuation.Card == nil,
	}
	if continuation.Route != "" && !search.HasTerminal(t.service.directory.Terminals(t.key.Org, partner.Number), rails{t.service}) {
		refusal := ledger.Refuse(op, ledger.NotContinuable, "the route is not offered for this transaction")
		refusal.Field = "route"
		t.refuseOperation(m, refusal)
		return
	}
	t.input.card, t.input.browser = continuation.Card, continuation.Browser
	var task admission.Task
	t.admission, task = admission.Start(search, "")
	t.admit(c, m, task)
}

// onPayerReturned handles opPayerReturned: the payer came back from the rail, so the provider is asked either
// to complete the charge or for the charge's result.
func (t *transaction) onPayerReturned(c *actors.Context, decider payment.DecisionContext, request ledger.ID) (payment.Decision, bool, error) {
	r := t.record
	expectsMaterial := r.Action != nil && (r.Action.Material != nil || r.Action.Destinations != nil)
	if r.Status == payment.ActionRequired && r.Op == nil && !expectsMaterial {
		d, err := decider.Complete(r, request)
		return d, err == nil, err
	}
	if r.Status.AtProvider() && r.Op == nil && !r.ReportedUnknown() {
		if err := t.callProvider(c, payment.InquireCharge, true); err != nil {
			t.logNotAsked(err) // the provider is asked again at the due instant
		}
	}
	return payment.Decision{}, false, nil
}

// operationRefused handles the writer's refusal of an operation's decision: if the refusal permits another
// try, the operation is tried again, otherwise the caller gets a reply.
func (t *transaction) operationRefused(c *actors.Context, m *operation, refusal *ledger.Refusal, r posting.Receipt) {
	objection := t.objection(refusal, r)
	switch {
	// The taken claim is the idempotency key: a decision may also claim a reference, but that is a new random id.
	case refusal.Code == ledger.ClaimTaken && !m.Key.IsZero():
		t.onAdmissionLost(c, m)
		t.dropAdmission(c)
		m.Answer(keyTaken(&m.Key, r.Owner))
	case refusal.Code == ledger.StaleVersion:
		t.onAdmissionLost(c, m)
		t.operate(c, m)
	case m.kind == opContinue && !objection.IsZero():
		t.admit(c, m, t.admission.OnObjection(objection))
	case refusal.Code == ledger.OutOfRange:
		t.input.wipe()
		m.Refuse(ledger.Refuse("payment", ledger.Unavailable, "an account's totals have no room for the amount"))
	default:
		t.onAdmissionLost(c, m)
		t.dropAdmission(c)
		m.Refuse(refusal)
	}
}

// onReport decides on a rail's report.
func (t *transaction) onReport(c *actors.Context, m providerReport) {
	if !t.load() {
		return
	}
	if charge := t.record.FindRefused(m.Terminal, m.Reference); charge != nil {
		t.onRefusedReport(m, charge)
		return
	}
	if m.Terminal != t.record.Terminal || m.Reference != t.record.ChargeReference() {
		t.service.rt.Log.Error("a rail reports a charge that was given up for another terminal", "transaction", t.key.ID.String(),
			"terminal", m.Terminal.String())
		return
	}
	switch m.Kind {
	case actors.Reversal:
		if !t.reverse(c, m) {
			t.deferred.reversal = &m
		}
	case actors.Correction:
		if d, ok := t.decisionContext(c).DecideCorrection(t.record, m.failure()); ok {
			t.commit(c, d, m)
		}
	case actors.LateSettlement:
		if !t.settleLate(c, m) {
			t.deferred.lateSettlement = &m
		}
	}
}

// resumeDeferred handles the rail's reports and updates that arrived while a provider call was in
// progress or a decision was being made durable.
func (t *transaction) resumeDeferred(c *actors.Context) {
	if m := t.deferred.lateSettlement; m != nil && t.record != nil && !c.Committing() && t.settleLate(c, *m) {
		t.deferred.lateSettlement = nil
	}
	if m := t.deferred.reversal; m != nil && t.record != nil && !c.Committing() && t.reverse(c, *m) {
		t.deferred.reversal = nil
	}
	if m := t.deferred.update; m != nil && c.Expecting() == 0 && !c.Committing() {
		t.deferred.update = nil
		t.onProviderUpdate(c, m)
	}
}

// settleLate decides on a report that money has moved after all. It returns false while a call is in progress,
// because the answer to the call may also say that money has moved.
func (t *transaction) settleLate(c *actors.Context, m providerReport) (done bool) {
	r := t.record
	if c.Expecting() > 0 || r.Op != nil && r.Op.Kind != payment.OpComplete {
		return false
	}
	if d, ok := t.decisionContext(c).DecideProviderAnswer(r, payment.ProviderAnswer{Verdict: payment.VerdictCharged}); ok {
		t.commit(c, d, m)
	}
	return true
}

// reverse decides on a report that settled money was taken back. It returns false while the
// charge's settlement or a refund's result is not known yet.
func (t *transaction) reverse(c *actors.Context, m providerReport) (done bool) {
	r := t.record
	if c.Expecting() > 0 || r.Op != nil {
		return false
	}
	if d, ok := t.decisionContext(c).DecideLateReversal(r); ok {
		t.commit(c, d, m)
		return true
	}
	if d, ok := t.decisionContext(c).DecideReversal(r, t.header.SettledSeq, c.Runtime.NewTransactionID(), m.failure()); ok {
		t.commit(c, d, m)
		return true
	}
	return r.Status.IsFinal() || r.Status == payment.Refunded // there is no more money that could be taken back
}
