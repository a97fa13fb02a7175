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

// operate decides on an operation on an existing transaction. While a provider's answer is expected
// the operation waits, because the answer may decide it.
func (t *transaction) operate(c *actors.Context, m *operation) {
	if c.Expecting() > 0 {
		if len(t.stashed) >= maxStashed {
			m.Refuse(actors.ErrBusy)
			return
		}
		t.stashed = append(t.stashed, m)
		return
	}
	if !t.load() {
		m.Refuse(unknown())
		return
	}
	if !m.begin() {
		m.wipe() // its caller has given up and was told that the operation was not carried out
		return
	}
	if m.what == proceed {
		t.proceed(c, m)
		return
	}
	d, decided, err := t.decide(c, m)
	switch {
	case err != nil:
		t.refuse(m, err)
	case decided:
		m.caller.cancels = m.what == cancel
		m.caller.patient = m.what == cancel || m.what == returned
		t.commit(c, d, m)
	default:
		m.caller.patient = true
		t.waiters = append(t.waiters, m.caller)
		t.answer(c)
	}
}

// refuse answers an operation that is not allowed; if its key repeats a stored operation, with that
// operation's reply.
func (t *transaction) refuse(m *operation, err error) {
	existing, repeated, keyErr := t.service.used(t.key.Org, &m.Key)
	switch {
	case keyErr != nil:
		m.Refuse(keyErr)
	case repeated:
		m.wipe()
		m.answer(reply{existing: existing})
	default:
		m.Refuse(err)
	}
}

// decide makes the operation's decision; decided is false if the operation only waits for the first
// outcome.
func (t *transaction) decide(c *actors.Context, m *operation) (d payment.Decision, decided bool, err error) {
	at, request := t.context(c), uuid.New()
	switch m.what {
	case refund:
		d, err = at.Refund(t.record, m.amount, request)
	case cancel:
		d, err = at.Cancel(t.record, request)
	case commit:
		d, err = at.Commit(t.record, m.amount, request)
	case complete:
		if d, err = at.Submit(t.record, hasText(m.material), request); err == nil {
			t.submission.material = m.material
		}
	case choose:
		d, err = at.Choose(t.record, m.choice, request)
	case returned:
		return t.payerReturned(c, at, request)
	case reissue:
		if t.record.Ended(ledger.MicrosOf(at.Now), m.page) {
			if err := t.ask(c, payment.AskReissue, true); err != nil {
				t.logNotAsked(err) // the next read of the transaction asks again
			}
		}
		return d, false, nil
	}
	return d, err == nil, err
}

// hasText returns a function that tells whether a member of the object is a text and not blank.
func hasText(object []byte) func(name string) bool {
	return func(name string) bool {
		if len(object) == 0 {
			return false
		}
		for m := jsonwalk.MembersOf(object); ; {
			found, value, more := m.Next()
			if !more {
				return false
			}
			if string(found) == name {
				text, isText := jsonwalk.Text(value)
				return isText && len(bytes.TrimSpace(text)) > 0
			}
		}
	}
}

// proceed begins the admission of a hosted transaction whose payer has entered credentials.
func (t *transaction) proceed(c *actors.Context, m *operation) {
	const op = "payment.Continue"
	switch r := t.record; {
	case r.AwaitsPayer() && t.stamp.Due <= ledger.MicrosOf(c.Now()), r.Failure.Code == payment.PayerActionExpired:
		t.refuse(m, ledger.Refuse(op, ledger.NotContinuable, "the payer's time is over"))
		return
	case !r.AwaitsPayer():
		t.refuse(m, ledger.Refuse(op, ledger.NotContinuable, "the transaction does not wait for its payer"))
		return
	}
	partner, known := t.service.directory.Partner(t.key.Org, t.record.Partner)
	organization, exists := t.service.directory.Organization(t.key.Org)
	if !known || !exists || !partner.Active || !organization.Active() {
		t.refuse(m, ledger.Refuse(op, ledger.NotContinuable, "the merchant takes no payments at present"))
		return
	}
	with := &m.with
	request := t.record.Request
	request.Method, request.CardBIN, request.CardFingerprint = with.Credentials.Method, with.Credentials.CardBIN, with.Credentials.CardFingerprint
	request.PayerIP = with.Credentials.PayerIP
	if request.Asset.Network == "" {
		request.Asset.Network = with.Credentials.Network
	}
	search := admission.Search{Org: t.key.Org, Partner: partner, Request: &request, Route: with.Route, At: ledger.MicrosOf(c.Now())}
	if with.Route != "" && !search.Offers(t.service.directory.Terminals(t.key.Org, partner.Number), rails{t.service}) {
		refusal := ledger.Refuse(op, ledger.NotContinuable, "the route is not offered for this transaction")
		refusal.Field = "route"
		t.refuse(m, refusal)
		return
	}
	t.submission.card, t.submission.browser = with.Card, with.Browser
	var task admission.Task
	t.admission, task = admission.Start(search, "")
	t.admit(c, m, task)
}

// payerReturned inquires the charge after its payer came back from the rail.
func (t *transaction) payerReturned(c *actors.Context, at payment.DecisionContext, request ledger.ID) (payment.Decision, bool, error) {
	r := t.record
	submits := r.Action != nil && (r.Action.Material != nil || r.Action.Destinations != nil)
	if r.Status == payment.ActionRequired && r.Op == nil && !submits {
		d, err := at.Complete(r, request)
		return d, err == nil, err
	}
	if r.Status.AtProvider() && r.Op == nil && !r.NotKnown() {
		if err := t.ask(c, payment.AskInquire, true); err != nil {
			t.logNotAsked(err) // the due instant asks again
		}
	}
	return payment.Decision{}, false, nil
}

// operationRefused turns the writer's refusal into the operation's reply.
func (t *transaction) operationRefused(c *actors.Context, m *operation, refusal *ledger.Refusal, r posting.Receipt) {
	objection := t.objection(refusal, r)
	switch {
	case refusal.Code == ledger.ClaimTaken:
		t.lose(c, m)
		t.withdraw(c)
		m.answer(keyTaken(&m.Key, r.Owner))
	case refusal.Code == ledger.StaleVersion:
		t.lose(c, m)
		t.operate(c, m)
	case m.what == proceed && !objection.IsZero():
		t.admit(c, m, t.admission.Object(objection))
	case refusal.Code == ledger.OutOfRange:
		t.submission.wipe()
		m.Refuse(ledger.Refuse("payment", ledger.Unavailable, "the totals have no room for it"))
	default:
		t.lose(c, m)
		t.withdraw(c)
		m.Refuse(refusal)
	}
}

// onReport decides on a rail's report.
func (t *transaction) onReport(c *actors.Context, m providerReport) {
	if !t.load() {
		return
	}
	if m.Terminal != t.record.Terminal {
		t.service.rt.Log.Error("a rail reports a charge that was given up for another terminal", "transaction", t.key.ID.String(),
			"terminal", m.Terminal.String())
		return
	}
	switch m.What {
	case actors.TakenBack:
		if !t.takeBack(c, m) {
			t.deferred.takenBack = &m
		}
	case actors.Corrected:
		if d, ok := t.context(c).DecideCorrection(t.record, m.failure()); ok {
			t.commit(c, d, m)
		}
	case actors.Settled:
		if !t.settle(c, m) {
			t.deferred.settled = &m
		}
	}
}

// resumeDeferred handles the rail's reports and updates that came while something else was in
// progress.
func (t *transaction) resumeDeferred(c *actors.Context) {
	if m := t.deferred.settled; m != nil && t.record != nil && !c.Committing() && t.settle(c, *m) {
		t.deferred.settled = nil
	}
	if m := t.deferred.takenBack; m != nil && t.record != nil && !c.Committing() && t.takeBack(c, *m) {
		t.deferred.takenBack = nil
	}
	if m := t.deferred.update; m != nil && c.Expecting() == 0 && !c.Committing() {
		t.deferred.update = nil
		t.onProviderUpdate(c, m)
	}
}

// settle decides on a report that money has moved after all. It returns false while a call is in
// progress whose answer may say the same.
func (t *transaction) settle(c *actors.Context, m providerReport) (done bool) {
	r := t.record
	if c.Expecting() > 0 || r.Op != nil && r.Op.Kind != payment.OpComplete {
		return false
	}
	if d, ok := t.context(c).Answered(r, payment.Answer{Verdict: payment.VerdictCharged}); ok {
		t.commit(c, d, m)
	}
	return true
}

// takeBack decides on a report that settled money was taken back. It returns false while the
// charge's settlement or a refund's result is not known yet.
func (t *transaction) takeBack(c *actors.Context, m providerReport) (done bool) {
	r := t.record
	if c.Expecting() > 0 || r.Op != nil {
		return false
	}
	if d, ok := t.context(c).DecideReversal(r, t.stamp.Settled, uuid.New(), m.failure()); ok {
		t.commit(c, d, m)
		return true
	}
	return r.Status.Final() || r.Status == payment.Refunded // there is nothing left to take back
}
