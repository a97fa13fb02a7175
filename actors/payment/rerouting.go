package payment

import (
	"errors"
	"slices"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/posting"
)

// elsewhere is an answer that sends the transaction on to another terminal.
type elsewhere struct {
	outcome
	answer  payment.Answer
	wanted  wanted
	stopped []payment.Attempt // terminals that something spoke against meanwhile
	trying  payment.Terms     // the terminal that is being tried
}

// maxAttempts bounds the terminals that a record says have refused.
const maxAttempts = 32

// reroute tries the next terminal; false: there is none that could be tried.
// Without the card that the first one had, no other can be asked.
func (t *transaction) reroute(c *actors.Context, m outcome, a payment.Answer) bool {
	r := t.record
	partner, known := t.service.directory.Partner(t.key.Org, r.Partner)
	if !known || r.Method == payment.BankCard && (m.card == nil || len(m.card.Number) == 0) {
		return false
	}
	request := r.Request
	e := &elsewhere{outcome: m, answer: a}
	e.wanted = wanted{org: t.key.Org, partner: partner, request: &request, tried: slices.Clone(r.Attempts), at: ledger.MicrosOf(c.Now())}
	e.wanted.tried = append(e.wanted.tried, payment.Attempt{Terminal: r.Terminal})
	return t.tryNext(c, e)
}

// tryNext goes through the terminals that are left; false: none of them may be
// tried.
func (t *transaction) tryNext(c *actors.Context, e *elsewhere) bool {
	for len(t.record.Attempts)+len(e.stopped) < maxAttempts {
		if e.trying = t.service.terms(&e.wanted); !e.trying.Found() {
			return false
		}
		if t.admits(c, e) {
			return true
		}
	}
	return false
}

// admits asks the limits about the terminal that is being tried: those of the
// terminal, which count what goes there, and the volumes. It tells whether the
// transaction goes there, or somebody is being asked.
func (t *transaction) admits(c *actors.Context, e *elsewhere) bool {
	limits := t.service.directory.Limits(e.wanted.org, e.wanted.partner.Number)
	if len(limits) == 0 {
		return t.goThere(c, e)
	}
	j := &judging{wanted: e.wanted, terms: e.trying, elsewhere: e}
	j.attempt = j.attempted(&j.terms, payerOf(j.request, e.card))
	j.attempt.Again = true
	breach := j.within(t.service, limits)
	e.trying.Bounds = j.terms.Bounds
	if !breach.IsZero() {
		e.stop(breach)
		return false
	}
	if len(j.paces) == 0 {
		return t.goThere(c, e)
	}
	t.pace(c, j)
	return true
}

// stop passes over the terminal that is being tried.
func (e *elsewhere) stop(reason payment.Failure) {
	passed := e.trying.Stopped(reason, e.wanted.at.Time())
	e.stopped = append(e.stopped, passed...)
	e.wanted.tried = append(e.wanted.tried, passed...)
}

// goThere sends the transaction on; false: the terminal's terms rule it out.
func (t *transaction) goThere(c *actors.Context, e *elsewhere) bool {
	terms := e.trying
	terms.Skipped = append(slices.Clone(e.stopped), terms.Skipped...)
	at := t.at(c)
	at.Now = e.wanted.at.Time() // when it is counted there: what is stored says the same
	d, ok := at.Reroute(t.record, e.answer, &terms)
	if !ok {
		e.wanted.tried = append(e.wanted.tried, payment.Attempt{Terminal: terms.Terminal})
		return false
	}
	t.commit(c, d, e)
	return true
}

// pacedElsewhere goes on with a transaction that was counted at the terminal
// that is being tried. One that could not be counted does not go there.
func (t *transaction) pacedElsewhere(c *actors.Context, e *elsewhere, m paced) {
	switch {
	case m.err != nil:
		t.settleAfter(c, e)
	case m.breached != nil:
		e.stop(breachOf(m.breached))
		t.goOnOrSettle(c, e)
	case !t.goThere(c, e):
		t.goOnOrSettle(c, e)
	}
}

// elsewhereRefused goes on after the writer has refused the terminal that was
// being tried: what is full there may have room at the next one. For any other
// reason the first terminal's answer stands.
func (t *transaction) elsewhereRefused(c *actors.Context, e *elsewhere, r posting.Receipt) {
	var refusal *ledger.Refusal
	errors.As(r.Err, &refusal)
	t.load()
	switch refusal.Code {
	case ledger.LimitExceeded:
		e.stop(t.decision.Breach(r.Counter))
	case ledger.InsufficientFunds:
		e.stop(payment.Failure{Code: payment.InsufficientBalance})
	default:
		t.settleAfter(c, e)
		return
	}
	t.goOnOrSettle(c, e)
}

func (t *transaction) goOnOrSettle(c *actors.Context, e *elsewhere) {
	if !t.tryNext(c, e) {
		t.settleAfter(c, e)
	}
}

// settleAfter takes the answer of the terminal that refused for the charge's, and
// notes what spoke against the others.
func (t *transaction) settleAfter(c *actors.Context, e *elsewhere) {
	t.settleFor(c, e.outcome, e.stopped...)
	if m := t.overdue; m != nil && !c.Committing() {
		t.overdue = nil
		t.due(c, *m)
	}
}

// attemptedAt calls fn with a stored transaction as limits have judged it: at
// the first terminal, and again at each that it was sent on to.
func attemptedAt(r *payment.Record, fn func(at ledger.Micros, a *directory.Attempt) (more bool)) (more bool) {
	kind := directory.PaymentTerminal
	if r.Type == payment.Payout {
		kind = directory.PayoutTerminal
	}
	attempt := directory.Attempt{Type: kind, Asset: r.Asset, Payer: payerOf(&r.Request, nil)}
	at := r.Attempted
	tell := func(terminal ledger.ID, when ledger.Micros) bool {
		a := attempt
		a.Terminal = terminal
		attempt.Again = true
		return fn(when, &a)
	}
	for i := range r.Attempts {
		switch a := &r.Attempts[i]; a.Outcome {
		case payment.AttemptRefused, payment.AttemptNotSent:
			if !tell(a.Terminal, at) {
				return false
			}
			at = a.At // the next one was tried when this one had refused
		}
	}
	if r.Terminal != (ledger.ID{}) && !tell(r.Terminal, at) {
		return false
	}
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.Outcome == payment.AttemptStopped && !tell(a.Terminal, a.At) {
			return false
		}
	}
	return attempt.Again || fn(at, &attempt) // no terminal was found
}
