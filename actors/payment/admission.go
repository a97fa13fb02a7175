package payment

import (
	"errors"
	"slices"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
	"mizan/posting"
)

// admit carries out the tasks of the admission (the checks before a charge is sent). It returns when the
// admission waits for an answer, or has submitted its Change (all that its decision makes durable). The cause
// is the message that is being admitted: a *create, the *operation that continues a hosted transaction, or a
// *failover.
func (t *transaction) admit(c *actors.Context, cause any, task admission.Task) {
	a := &t.admission
	t.cause = cause
	for task != "" {
		switch task {
		case admission.FindTerminal:
			task = a.Find(t.service.directory.Terminals(a.Org, a.Partner.Number), rails{t.service})
		case admission.Screen:
			task = a.Screen(t.rules(cause))
		case admission.Count:
			task = t.countAttempt(c)
		case admission.Recount:
			cause.(*failover).admissionStarted = true
			task = t.countThroughActor(c)
		case admission.Begin:
			task = t.beginCharge(c, cause)
		case admission.AskAccount:
			task = t.checkFunds(c)
		case admission.Write:
			t.commit(c, t.decision, cause)
			return
		case admission.Reroute:
			task = t.reroute(c, cause.(*failover))
		case admission.Reject:
			t.reject(c, cause)
			return
		case admission.AnswerStored:
			t.answerWithStored()
			return
		case admission.Withdraw:
			t.abortUncounted(c, cause)
			return
		case admission.UncountAttempt:
			t.uncountAttempt()
			t.admission = admission.Admission{}
			return
		case admission.KeepAnswer:
			t.settleWithRefusal(c, cause.(*failover))
			return
		}
	}
}

// rules returns the current limits and block list that the attempt is checked against.
func (t *transaction) rules(cause any) admission.Rules {
	s, a := t.service, &t.admission
	rules := admission.Rules{Limits: s.directory.Limits(a.Org, a.Partner.Number), BoundCache: &s.volumes}
	if s.directory.HasBlocks(a.Org) {
		rules.Blocks = s.directory
	}
	var card *secret.Card
	switch m := cause.(type) {
	case *createMessage:
		card = m.Card
	case *operation:
		card = m.continuation.Card
	case *failover:
		card = m.card
	}
	if card != nil && len(card.Number) >= directory.MaxBIN {
		rules.BIN = card.Number[:directory.MaxBIN:directory.MaxBIN]
	}
	return rules
}

// velocityResult says which velocity limit, if any, an attempt has exceeded when it was counted.
type velocityResult struct {
	exceeded *directory.Limit
	err      error
}

// Expected implements actors.AnnouncedMessage.
func (velocityResult) Expected() {}

// countAttempt counts the attempt against the velocity limits: at once if no limit is near its bound, otherwise through an
// actor of package account.
func (t *transaction) countAttempt(c *actors.Context) admission.Task {
	a := &t.admission
	if t.service.admission.CountNow(a.Org, a.Partner.Number, a.CountedBy, a.At, &a.Attempt) {
		return a.OnVelocity(nil, nil)
	}
	return t.countThroughActor(c)
}

// countThroughActor makes an actor of package account count the attempt; the result arrives as a velocityResult.
func (t *transaction) countThroughActor(c *actors.Context) admission.Task {
	service, key, a := t.service, t.key, &t.admission
	var isRepetition func() (bool, error) // reports whether another transaction already has the request's txid
	if m := t.create; m != nil && m.Request.TxID != "" {
		isRepetition = func() (bool, error) {
			_, found, err := service.findByTxID(key.Org, m)
			return found, err
		}
	}
	service.admission.Count(a.Org, a.Partner.Number, a.CountedBy, a.At, &a.Attempt, isRepetition, func(exceeded *directory.Limit, err error) {
		service.registry.Tell(key, velocityResult{exceeded, err})
	})
	c.Expect()
	return ""
}

func (t *transaction) onVelocity(c *actors.Context, m velocityResult) {
	if t.admission.AwaitsVelocity() { // otherwise the actor has panicked meanwhile, and Failed has answered the request
		t.admit(c, t.cause, t.admission.OnVelocity(m.exceeded, m.err))
	}
}

// findByTxID returns the transaction that already has the txid of a create request. If there is none, found is false.
func (s *Service) findByTxID(org ledger.ID, m *createMessage) (id ledger.ID, found bool, err error) {
	view := s.rt.Journal.View()
	defer view.Close()
	owner, found, err := view.Claim(org, ledger.ClaimTxID, TxIDKey(m.Partner.Number, m.Request.TxID))
	if err != nil || !found {
		return id, false, err
	}
	id, err = uuid.FromBytes(owner)
	return id, true, err
}

// answerWithStored answers a create request whose txid another transaction already has. The answer is that transaction.
// The request was not counted as an attempt.
func (t *transaction) answerWithStored() {
	m := t.create
	id, _, err := t.service.findByTxID(t.key.Org, m)
	t.input.wipe()
	t.create, t.cause, t.admission = nil, nil, admission.Admission{}
	m.Answer(reply{existing: id, err: err})
}

// abortUncounted answers a request whose attempt could not be counted. Nothing is stored for the request.
func (t *transaction) abortUncounted(c *actors.Context, cause any) {
	t.abort(cause, t.admission.CountError)
	t.cause = nil
	if t.record != nil {
		t.dropAdmission(c)
	}
}

// dropAdmission ends the admission of a hosted transaction without storing anything, and handles due
// work that arrived during the admission.
func (t *transaction) dropAdmission(c *actors.Context) {
	t.input.wipe()
	t.uncountAttempt()
	t.admission = admission.Admission{}
	t.resumeDue(c)
}

// uncountAttempt subtracts the attempt from the velocity limits, if they have counted it. It is called if the
// request turns out to be a repetition, or could not be stored.
func (t *transaction) uncountAttempt() {
	if a := &t.admission; a.IsCounted {
		a.IsCounted = false
		t.service.admission.Uncount(a.Org, a.Partner.Number, a.CountedBy, a.At, &a.Attempt)
	}
}

// beginCharge decides on the charge of a payment that passed the screening.
func (t *transaction) beginCharge(c *actors.Context, cause any) admission.Task {
	a := &t.admission
	if m, ok := cause.(*operation); ok {
		m.continuation.Credentials.AttemptedAt = a.At
		t.commit(c, t.decisionContext(c).Continue(t.record, m.continuation.Credentials, &a.Terms, uuid.New()), m)
		return ""
	}
	m := t.create
	d := t.decisionContext(c).Create(m.id, m.Partner.Number, m.Request, &a.Terms)
	// If there are volume limits, the writer checks the funds, because the limits must be checked first.
	if len(d.Funds) > 0 && len(a.Terms.Bounds) == 0 {
		t.decision = d
		return a.CheckFunds()
	}
	t.commit(c, d, m)
	return ""
}

// fundsResult says whether the account covers a payout.
type fundsResult struct{ covered bool }

// Expected implements actors.AnnouncedMessage.
func (fundsResult) Expected() {}

// checkFunds asks whether the account can cover the payout that was decided on; the answer arrives as a
// fundsResult.
func (t *transaction) checkFunds(c *actors.Context) admission.Task {
	service, key, d := t.service, t.key, &t.decision
	funds := &d.Funds[0]
	service.admission.CheckFunds(funds.Org, funds.Account, d.Record.AmountWithFee, funds.Overdraft, func(covered bool) {
		service.registry.Tell(key, fundsResult{covered})
	})
	c.Expect()
	return ""
}

func (t *transaction) onFunds(c *actors.Context, covered bool) {
	if t.create != nil { // otherwise the actor has panicked meanwhile, and Failed has answered the request
		t.admit(c, t.create, t.admission.OnFunds(covered))
	}
}

// reject decides to reject a payment that did not pass its admission.
func (t *transaction) reject(c *actors.Context, cause any) {
	s, a := t.service, &t.admission
	if m, ok := cause.(*operation); ok && a.Reason.Code == payment.NoTerminal && a.WouldServeAtHigherTotal(t.service.directory.Terminals(a.Org, a.Partner.Number), rails{s}) {
		t.refuseForTotal(c, m)
		return
	}
	attempts := a.ConsideredTerminals(s.directory.Terminals(a.Org, a.Partner.Number), rails{s}, c.Now())
	if m, ok := cause.(*operation); ok {
		m.continuation.Credentials.AttemptedAt = a.At
		credentials := m.continuation.Credentials
		credentials.Network = a.Terms.Asset.Network
		t.commit(c, t.decisionContext(c).RefuseContinue(t.record, credentials, a.Reason, attempts...), m)
		return
	}
	m := t.create
	request := m.Request
	request.Asset = a.Terms.Asset
	d := t.decisionContext(c).Reject(m.id, m.Partner.Number, request, a.Reason, attempts...)
	d.Record.Hosted = m.Hosted
	t.commit(c, d, m)
}

// refuseForTotal refuses the payer's credentials, because a terminal's fee was raised after the payer had agreed to the
// total. The payment stays as it is, so that the payer can agree to the new total.
func (t *transaction) refuseForTotal(c *actors.Context, m *operation) {
	t.cause = nil
	t.dropAdmission(c)
	refusal := ledger.Refuse("payment.Continue", ledger.NotContinuable, "the total is higher than the payer has agreed to")
	refusal.Field = payment.AgreedTotalField
	m.Refuse(refusal)
}

// objection translates the writer's refusal into a failure of the payment. If the payment is not the reason
// for the refusal, the failure is zero.
func (t *transaction) objection(refusal *ledger.Refusal, r posting.Receipt) payment.Failure {
	switch refusal.Code {
	case ledger.LimitExceeded:
		return t.decision.Breach(r.Counter)
	case ledger.InsufficientFunds:
		return payment.Failure{Code: payment.InsufficientBalance}
	case ledger.OutOfRange:
		return payment.Failure{Code: payment.AmountOutOfRange}
	}
	return payment.Failure{}
}

// onAdmissionLost tells an admission in progress that the writer has refused its Change, for a reason
// that is no objection to the payment itself.
func (t *transaction) onAdmissionLost(c *actors.Context, cause any) {
	if t.admission.State() != "" {
		t.admit(c, cause, t.admission.OnWriterRefusal())
	}
}

// failover is a provider's answer after which another terminal is tried.
type failover struct {
	*providerAnswer
	answer           payment.ProviderAnswer
	admissionStarted bool // the velocity limits have counted the attempt for another terminal, or a Change for it was submitted
}

// tryFailover looks for another terminal. It returns false if no other terminal may be tried after this
// answer, or if the charge was by card and the card is no longer in memory.
func (t *transaction) tryFailover(c *actors.Context, m *providerAnswer, answer payment.ProviderAnswer) bool {
	r := t.record
	if !payment.Reroutable(r, answer) {
		return false
	}
	partner, known := t.service.directory.Partner(t.key.Org, r.Partner)
	if !known || r.Method == payment.BankCard && (m.card == nil || len(m.card.Number) == 0) {
		return false
	}
	request := r.Request
	search := admission.TerminalSearch{
		Org: t.key.Org, Partner: partner, Request: &request, At: ledger.MicrosOf(c.Now()),
		TriedTerminals: append(slices.Clone(r.Attempts), payment.Attempt{Terminal: r.Terminal}),
	}
	var task admission.Task
	t.admission, task = admission.Failover(search, r)
	t.admit(c, &failover{providerAnswer: m, answer: answer}, task)
	return true
}

// reroute decides to send the charge to the terminal that is being tried.
func (t *transaction) reroute(c *actors.Context, m *failover) admission.Task {
	a := &t.admission
	terms := a.Terms
	terms.SkippedTerminals = append(slices.Clone(a.SkippedTerminals), terms.SkippedTerminals...)
	decider := t.decisionContext(c)
	decider.Now = a.At.Time() // the time at which the velocity limits have counted the attempt, so that the stored attempt has the same time
	d, ok := decider.Reroute(t.record, m.answer, &terms)
	if !ok {
		return a.ExcludeTerminal()
	}
	m.admissionStarted = true
	t.commit(c, d, m)
	return ""
}

// failoverRefused continues after the writer has refused a charge at the terminal that was being tried:
// the limits of another terminal may still have room.
func (t *transaction) failoverRefused(c *actors.Context, m *failover, r posting.Receipt) {
	var refusal *ledger.Refusal
	errors.As(r.Err, &refusal)
	t.load()
	objection := t.objection(refusal, r)
	if objection.IsZero() || refusal.Code == ledger.OutOfRange {
		t.admit(c, m, t.admission.OnWriterRefusal())
		return
	}
	t.admit(c, m, t.admission.OnObjection(objection))
}

// settleWithRefusal makes the provider's refusal the result of the charge, because no other terminal can be used. If
// other terminals were tried (admissionStarted), they are stored as attempts, with the reasons why they could not be
// used, because stored attempts count towards the velocity limits of those terminals (admission.Attempts).
func (t *transaction) settleWithRefusal(c *actors.Context, m *failover) {
	var passedOver []payment.Attempt
	if m.admissionStarted {
		passedOver = t.admission.SkippedTerminals
	}
	t.cause, t.admission = nil, admission.Admission{}
	t.decideOutcome(c, m.providerAnswer, passedOver...)
	if !c.Committing() {
		t.resumeDue(c)
	}
}

// rails implements admission.Rails, the interface that package admission uses to ask the Service about rails and
// rates.
type rails struct{ *Service }

// Accepts implements admission.Rails.
func (r rails) Accepts(provider string, direction payment.Type, method string) bool {
	operation := actors.Pay
	if direction == payment.Payout {
		operation = actors.PayOut
	}
	p := r.providers[provider]
	return p != nil && p.Accepts(operation, method)
}

// CollectsCards implements admission.Rails.
func (r rails) CollectsCards(t *directory.Terminal) bool {
	collector, ok := r.providers[t.Provider].(actors.CardCollector)
	return ok && collector.CollectsCards(t)
}

// CircuitOpen implements admission.Rails.
func (r rails) CircuitOpen(terminal ledger.ID) bool { return r.circuits.isOpen(terminal) }

// Rate implements admission.Rails.
func (r rails) Rate(org ledger.ID, from, to money.Currency) (money.Rate, bool) {
	return r.directory.Rate(org, from, to)
}
