package admission

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Rules has the rules against which an attempt is checked.
type Rules struct {
	Limits  []*directory.Limit // the partner's active limits; the slice is never changed
	Blocks  BlockList          // nil: the blocklist is empty
	Volumes *Volumes           // cache of the bounds that follow from volume limits
	BIN     []byte             // the beginning of the card's number; nil: as in the request
}

// BlockList finds the first blocklist entry that applies to a payer, and returns the entry's kind, such as "ip".
type BlockList interface {
	Blocked(org ledger.ID, p *directory.Payer) (kind string, blocked bool)
}

// Screen checks the attempt against the blocklist, unless there is an objection already or failover is under way. It always
// checks the limits, because this check also finds the velocity limits that must count the attempt.
func (a *Admission) Screen(rules Rules) Task {
	limits, checksBlocks := rules.Limits, rules.Blocks != nil && !a.failingOver()
	if len(limits) == 0 && !checksBlocks { // most partners have neither limits nor a blocklist
		return a.onObjection(payment.Failure{})
	}
	a.CountedBy = nil
	a.Attempt = directory.Attempt{Type: a.terminalType(), Asset: a.Terms.Asset, Terminal: a.Terms.Terminal, IsRescreened: a.failingOver()}
	if checksBlocks || slices.ContainsFunc(limits, isPersonal) {
		a.Attempt.Payer = PayerOf(a.Request, rules.BIN)
	}
	if checksBlocks && a.Reason.IsZero() {
		if kind, blocked := rules.Blocks.Blocked(a.Org, &a.Attempt.Payer); blocked {
			a.Reason = payment.Failure{Code: payment.AntiFraud, Detail: kind}
		}
	}
	breach := a.applyLimits(limits, rules.Volumes)
	switch {
	case len(a.CountedBy) == 0, a.failingOver() && !breach.IsZero():
		return a.onObjection(breach)
	case a.Reason.IsZero():
		a.Reason = breach
	}
	return a.step(ToCount)
}

// applyLimits checks the attempt against the limits on the amount of one payment, and returns the first objection. It
// collects the velocity limits, for which the account's actor counts attempts. It makes Terms.Bounds from the volume limits,
// and the writer checks these bounds. Attempts with the same bounds share them in memory, unless one of the volume limits
// depends on the payer.
func (a *Admission) applyLimits(limits []*directory.Limit, volumes *Volumes) (breach payment.Failure) {
	var (
		today        *day
		volumeLimits limitSet
		isUnshared   = len(limits) > directory.MaxLimits || slices.ContainsFunc(limits, isPersonalVolume)
	)
	for i, limit := range limits {
		subject, applies := limit.AppliesTo(&a.Attempt)
		switch {
		case !applies:
		case limit.Kind.Measure() == directory.OneAmount:
			if breach.IsZero() && limit.MaxAmount.Less(a.Request.Amount) {
				breach = breachOf(limit)
			}
		case limit.Kind.Measure() == directory.Attempts:
			a.CountedBy = append(a.CountedBy, limit)
		default:
			if today == nil {
				today = volumes.day(a.At.Date())
			}
			if isUnshared {
				a.addBound(boundOf(limit, today.name, subject), len(limits))
			} else {
				volumeLimits.addIndex(i)
			}
		}
	}
	if today != nil && !isUnshared {
		a.Terms.Bounds = today.cachedBounds(limits, &volumeLimits)
	}
	return breach
}

// addBound adds a bound that is not shared with other attempts.
func (a *Admission) addBound(b payment.Bound, maxBounds int) {
	if a.Terms.Bounds == nil {
		a.Terms.Bounds = make([]payment.Bound, 0, maxBounds)
	}
	b.BuildKeys()
	a.Terms.Bounds = append(a.Terms.Bounds, b)
}

// isPersonal tells whether the limit counts each payer or payee separately.
func isPersonal(l *directory.Limit) bool { return l.Scope != directory.ScopePartner }

func isPersonalVolume(l *directory.Limit) bool { return l.Kind.IsVolume() && isPersonal(l) }

// breachOf returns the failure of a transaction that would exceed the limit.
func breachOf(l *directory.Limit) payment.Failure {
	return payment.Failure{Code: payment.LimitExceeded, Detail: string(l.Kind)}
}

// boundOf returns the bound that a volume limit sets for a payment on the day. subject is the payer whose payments the limit
// counts; empty: all payers.
func boundOf(l *directory.Limit, dayName, subject string) payment.Bound {
	return payment.Bound{
		Volume: payment.Volume{Limit: l.ID, Window: l.CounterWindow(dayName), Subject: subject}, Max: l.MaxAmount, Breach: breachOf(l),
	}
}
