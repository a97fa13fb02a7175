package admission

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Attempts calls fn for each attempt of a stored transaction at a terminal, with the data that limits have seen. There is
// one attempt at the first terminal and one at each terminal that failover tried. If the payer of a hosted payment has
// tried several times, each try has such attempts. Attempts stops when fn returns false, and returns the last result of
// fn.
func Attempts(r *payment.Record, fn func(attemptedAt ledger.Micros, a *directory.Attempt) (wantsMore bool)) (wantsMore bool) {
	for i := range r.EndedAttempts {
		if past := recordOf(r, &r.EndedAttempts[i]); !attemptsOf(&past, fn) {
			return false
		}
	}
	return r.AttemptedAt == 0 || attemptsOf(r, fn)
}

// recordOf returns a hosted payment as it was at the end of an attempt, with that attempt's credentials and terminals.
func recordOf(r *payment.Record, ended *payment.EndedAttempt) payment.Record {
	past, entered := *r, &ended.Credentials
	past.Method, past.CardBIN, past.CardFingerprint = entered.Method, entered.CardBIN, entered.CardFingerprint
	past.PayerIP, past.AttemptedAt = entered.PayerIP, entered.AttemptedAt
	past.Terminal, past.Attempts, past.EndedAttempts = ledger.ID{}, ended.Terminals, nil
	return past
}

// attemptsOf does the work of Attempts for the payer's last try.
func attemptsOf(r *payment.Record, fn func(attemptedAt ledger.Micros, a *directory.Attempt) (wantsMore bool)) (wantsMore bool) {
	search := TerminalSearch{Request: &r.Request}
	attempt := directory.Attempt{Type: search.terminalType(), Asset: r.Asset, Payer: PayerOf(&r.Request, nil)}
	attemptedAt := r.AttemptedAt
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
			attemptedAt = a.At // at the instant of this refusal the next terminal was tried
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
	return attempt.IsRescreened || fn(attemptedAt, &attempt) // a request for which no terminal was found is also an attempt
}
