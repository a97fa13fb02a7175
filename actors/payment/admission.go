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

// admit carries out the admission's tasks until it waits for an answer or its Change is with the
// writer. The cause is the message that is being admitted: a *create, the *operation that continues
// a hosted transaction, or a *failover.
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
			task = t.count(c)
		case admission.Recount:
			cause.(*failover).admissionStarted = true
			task = t.countLater(c)
		case admission.Begin:
			task = t.beginCharge(c, cause)
		case admission.AskAccount:
			task = t.askAccount(c)
		case admission.Write:
			t.commit(c, t.decision, cause)
			return
		case admission.Reroute:
			task = t.reroute(c, cause.(*failover))
		case admission.Reject:
			t.reject(c, cause)
			return
		case admission.AnswerStored:
			t.answerStored()
			return
		case admission.Withdraw:
			t.uncountable(c, cause)
			return
		case admission.TakeBack:
			t.uncount()
			t.admission = admission.Admission{}
			return
		case admission.LetStand:
			t.letStand(c, cause.(*failover))
			return
		}
	}
}

// rules returns the current limits and block list that the attempt is checked against.
func (t *transaction) rules(cause any) admission.Rules {
	s, a := t.service, &t.admission
	rules := admission.Rules{Limits: s.directory.Limits(a.Org, a.Partner.Number), Volumes: &s.volumes}
	if s.directory.HasBlocks(a.Org) {
		rules.Blocks = s.directory
	}
	var card *secret.Card
	switch m := cause.(type) {
	case *create:
		card = m.Card
	case *operation:
		card = m.with.Card
	case *failover:
		card = m.card
	}
	if card != nil && len(card.Number) >= directory.MaxBIN {
		rules.BIN = card.Number[:directory.MaxBIN:directory.MaxBIN]
	}
	return rules
}

// velocityResult is the account package's answer to an attempt.
type velocityResult struct {
	exceeded *directory.Limit
	err      error
}

// Expected implements actors.Expected.
func (velocityResult) Expected() {}

// count counts the attempt against the velocity limits: at once if none is near its bound, else
// through the account package's actor.
func (t *transaction) count(c *actors.Context) admission.Task {
	a := &t.admission
	if t.service.admission.CountNow(a.Org, a.Partner.Number, a.CountedBy, a.At, &a.Attempt) {
		return a.Velocity(nil, nil)
	}
	return t.countLater(c)
}

// countLater makes the account package's actor count the attempt.
func (t *transaction) countLater(c *actors.Context) admission.Task {
	service, key, a := t.service, t.key, &t.admission
	var repeats func() (bool, error)
	if m := t.create; m != nil && m.Request.TxID != "" {
		repeats = func() (bool, error) {
			_, keyUsed, err := service.claimed(key.Org, m)
			return keyUsed, err
		}
	}
	service.admission.Count(a.Org, a.Partner.Number, a.CountedBy, a.At, &a.Attempt, repeats, func(exceeded *directory.Limit, err error) {
		service.registry.Tell(key, velocityResult{exceeded, err})
	})
	c.Expect()
	return ""
}

func (t *transaction) onVelocity(c *actors.Context, m velocityResult) {
	if t.admission.Waits() { // else a panic has answered it meanwhile
		t.admit(c, t.cause, t.admission.Velocity(m.exceeded, m.err))
	}
}

// claimed returns the transaction that already has a create's txid.
func (s *Service) claimed(org ledger.ID, m *create) (id ledger.ID, keyUsed bool, err error) {
	view := s.rt.Journal.View()
	defer view.Close()
	owner, keyUsed, err := view.Claim(org, ledger.ClaimTxID, TxIDKey(m.Partner.Number, m.Request.TxID))
	if err != nil || !keyUsed {
		return id, false, err
	}
	id, err = uuid.FromBytes(owner)
	return id, true, err
}

// answerStored answers a create whose txid is taken and that was not counted.
func (t *transaction) answerStored() {
	m := t.create
	id, _, err := t.service.claimed(t.key.Org, m)
	t.submission.wipe()
	t.create, t.cause, t.admission = nil, nil, admission.Admission{}
	m.answer(reply{existing: id, err: err})
}

// uncountable answers an attempt that could not be counted. Nothing is stored for it.
func (t *transaction) uncountable(c *actors.Context, cause any) {
	t.giveUp(cause, t.admission.Fault)
	t.cause = nil
	if t.record != nil {
		t.withdraw(c)
	}
}

// withdraw ends the admission of a hosted transaction without a trace, and handles due work that
// came meanwhile.
func (t *transaction) withdraw(c *actors.Context) {
	t.submission.wipe()
	t.uncount()
	t.admission = admission.Admission{}
	t.resumeDue(c)
}

// uncount takes back what was counted for a repetition.
func (t *transaction) uncount() {
	if a := &t.admission; a.Counted {
		a.Counted = false
		t.service.admission.Uncount(a.Org, a.Partner.Number, a.CountedBy, a.At, &a.Attempt)
	}
}

// beginCharge decides on the charge of a payment that passed the screening.
func (t *transaction) beginCharge(c *actors.Context, cause any) admission.Task {
	a := &t.admission
	if m, ok := cause.(*operation); ok {
		m.with.Credentials.Attempted = a.At
		t.commit(c, t.context(c).Continue(t.record, m.with.Credentials, &a.Terms), m)
		return ""
	}
	m := t.create
	d := t.context(c).Create(m.id, m.Partner.Number, m.Request, &a.Terms)
	if len(d.Funds) > 0 && len(a.Terms.Bounds) == 0 { // the writer checks limits before funds
		t.decision = d
		return a.GuardFunds()
	}
	t.commit(c, d, m)
	return ""
}

// fundsResult is the account's answer to a payout.
type fundsResult struct{ covered bool }

// Expected implements actors.Expected.
func (fundsResult) Expected() {}

// askAccount asks whether the account can bear the payout that was decided on.
func (t *transaction) askAccount(c *actors.Context) admission.Task {
	service, key, d := t.service, t.key, &t.decision
	g := &d.Funds[0]
	service.admission.Admit(g.Org, g.Account, d.Record.AmountWithFee, g.Overdraft, func(covered bool) {
		service.registry.Tell(key, fundsResult{covered})
	})
	c.Expect()
	return ""
}

func (t *transaction) onFunds(c *actors.Context, covered bool) {
	if t.create != nil { // else a panic has answered it meanwhile
		t.admit(c, t.create, t.admission.Funds(covered))
	}
}

// reject decides on the rejection of a payment that did not pass.
func (t *transaction) reject(c *actors.Context, cause any) {
	s, a := t.service, &t.admission
	attempts := a.LookedAt(s.directory.Terminals(a.Org, a.Partner.Number), rails{s}, c.Now())
	if m, ok := cause.(*operation); ok {
		m.with.Credentials.Attempted = a.At
		with := m.with.Credentials
		with.Network = a.Terms.Asset.Network
		t.commit(c, t.context(c).RefuseContinue(t.record, with, a.Reason, attempts...), m)
		return
	}
	m := t.create
	request := m.Request
	request.Asset = a.Terms.Asset
	d := t.context(c).Reject(m.id, m.Partner.Number, request, a.Reason, attempts...)
	d.Record.Hosted = m.Hosted
	t.commit(c, d, m)
}

// objection returns the failure that the writer's refusal means for the payment; zero if the
// refusal has another reason.
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

// lose tells an admission in progress that the writer refused for a reason that is no objection to
// the payment.
func (t *transaction) lose(c *actors.Context, cause any) {
	if t.admission.State() != "" {
		t.admit(c, cause, t.admission.Lose())
	}
}

// failover is a provider's answer after which another terminal is tried.
type failover struct {
	providerAnswer
	answer           payment.Answer
	admissionStarted bool // the velocity limits or the writer were asked about a terminal
}

// failOver looks for another terminal; it returns false if none may be tried after this answer, or
// if the card is gone, without which no other terminal can be tried.
func (t *transaction) failOver(c *actors.Context, m providerAnswer, answer payment.Answer) bool {
	r := t.record
	if !payment.Reroutable(r, answer) {
		return false
	}
	partner, known := t.service.directory.Partner(t.key.Org, r.Partner)
	if !known || r.Method == payment.BankCard && (m.card == nil || len(m.card.Number) == 0) {
		return false
	}
	request := r.Request
	search := admission.Search{
		Org: t.key.Org, Partner: partner, Request: &request, At: ledger.MicrosOf(c.Now()),
		Tried: append(slices.Clone(r.Attempts), payment.Attempt{Terminal: r.Terminal}),
	}
	var task admission.Task
	t.admission, task = admission.Failover(search, r)
	t.admit(c, &failover{providerAnswer: m, answer: answer}, task)
	return true
}

// reroute decides on the terminal that is being tried.
func (t *transaction) reroute(c *actors.Context, m *failover) admission.Task {
	a := &t.admission
	terms := a.Terms
	terms.Skipped = append(slices.Clone(a.Stopped), terms.Skipped...)
	at := t.context(c)
	at.Now = a.At.Time() // the time at which it is counted there, so that the stored attempt has the same time
	d, ok := at.Reroute(t.record, m.answer, &terms)
	if !ok {
		return a.RuleOut()
	}
	m.admissionStarted = true
	t.commit(c, d, m)
	return ""
}

// failoverRefused continues after the writer has refused the terminal that was being tried: a limit
// that is full there may have room at the next terminal.
func (t *transaction) failoverRefused(c *actors.Context, m *failover, r posting.Receipt) {
	var refusal *ledger.Refusal
	errors.As(r.Err, &refusal)
	t.load()
	objection := t.objection(refusal, r)
	if objection.IsZero() || refusal.Code == ledger.OutOfRange {
		t.admit(c, m, t.admission.Lose())
		return
	}
	t.admit(c, m, t.admission.Object(objection))
}

// letStand takes the answer of the terminal that refused as the charge's result. If the velocity
// limits or the writer were asked about another terminal, it also stores the objections against the
// others, because stored attempts count towards the velocity limits there (admission.Attempts).
func (t *transaction) letStand(c *actors.Context, m *failover) {
	var stopped []payment.Attempt
	if m.admissionStarted {
		stopped = t.admission.Stopped
	}
	t.cause, t.admission = nil, admission.Admission{}
	t.settleFor(c, m.providerAnswer, stopped...)
	if !c.Committing() {
		t.resumeDue(c)
	}
}

// rails is a Service as routing sees it.
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

// CircuitOpen implements admission.Rails.
func (r rails) CircuitOpen(terminal ledger.ID) bool { return r.circuits.open(terminal) }

// Rate implements admission.Rails.
func (r rails) Rate(org ledger.ID, from, to money.Currency) (money.Rate, bool) {
	return r.directory.Rate(org, from, to)
}
