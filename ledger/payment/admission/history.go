package admission

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Attempts calls fn for each attempt of a stored transaction, as the limits saw it: one at the first terminal and
// one at each terminal that failover tried, and the same for each earlier attempt of a hosted payment's payer. It stops
// when fn returns false, and returns fn's last result.
func Attempts(r *payment.Record, fn func(attemptedAt ledger.Micros, a *directory.Attempt) (wantsMore bool)) (wantsMore bool) {
	for i := range r.Ended {
		if past := recordOf(r, &r.Ended[i]); !attemptsOf(&past, fn) {
			return false
		}
	}
	return r.Attempted == 0 || attemptsOf(r, fn)
}

// recordOf returns a hosted payment as it was when an attempt had ended: with the credentials and terminals of that attempt.
func recordOf(r *payment.Record, ended *payment.EndedAttempt) payment.Record {
	past, entered := *r, &ended.Credentials
	past.Method, past.CardBIN, past.CardFingerprint = entered.Method, entered.CardBIN, entered.CardFingerprint
	past.PayerIP, past.Attempted = entered.PayerIP, entered.Attempted
	past.Terminal, past.Attempts, past.Ended = ledger.ID{}, ended.Terminals, nil
	return past
}

// attemptsOf is Attempts without the earlier attempts of the payer.
func attemptsOf(r *payment.Record, fn func(attemptedAt ledger.Micros, a *directory.Attempt) (wantsMore bool)) (wantsMore bool) {
	search := Search{Request: &r.Request}
	attempt := directory.Attempt{Type: search.terminalType(), Asset: r.Asset, Payer: PayerOf(&r.Request, nil)}
	attemptedAt := r.Attempted
	emit := func(terminal ledger.ID, when ledger.Micros) bool {
		a := attempt
		a.Terminal = terminal
		attempt.IsRescreened = true
		return fn(when, &a)
	}
	for i := range r.Attempts {
		switch a := &r.Attempts[i]; a.Outcome {
		case payment.AttemptRefused, payment.AttemptNotSent:
			if !emit(a.Terminal, attemptedAt) {
				return false
			}
			attemptedAt = a.At // the next terminal was tried when this one had refused
		}
	}
	if r.Terminal != (ledger.ID{}) && !emit(r.Terminal, attemptedAt) {
		return false
	}
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.Outcome == payment.AttemptStopped && !emit(a.Terminal, a.At) {
			return false
		}
	}
	return attempt.IsRescreened || fn(attemptedAt, &attempt) // even without a terminal there was one attempt
}
