package admission

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Rules are the rules against which an attempt is checked.
type Rules struct {
	Limits     []*directory.Limit // the partner's active limits; the slice is never changed
	Blocks     BlockList          // nil if the blocklist is empty
	BoundCache *BoundCache        // cache of the bounds computed from volume limits
	BIN        []byte             // the beginning of the card number; if nil, the request's CardBIN
}

// BlockList finds the first blocklist entry that applies to a payer.
type BlockList interface {
	Blocked(org ledger.ID, p *directory.Payer) (kind string, blocked bool)
}

// Screen checks the attempt against the limits and the blocklist. The blocklist is not checked if there is already an
// objection or if failover is under way. The limits are always checked, because this check also finds the velocity limits
// that must count the attempt.
func (a *Admission) Screen(rules Rules) Task {
	limits, checksBlocks := rules.Limits, rules.Blocks != nil && !a.isFailover()
	if len(limits) == 0 && !checksBlocks { // most partners have neither limits nor a blocklist
		return a.handleObjection(payment.Failure{})
	}
	a.CountedBy = nil
	a.Attempt = directory.Attempt{Type: a.terminalType(), Asset: a.Terms.Asset, Terminal: a.Terms.Terminal, IsRescreened: a.isFailover()}
	if checksBlocks || slices.ContainsFunc(limits, isPersonal) {
		a.Attempt.Payer = PayerOf(a.Request, rules.BIN)
	}
	if checksBlocks && a.Reason.IsZero() {
		if kind, blocked := rules.Blocks.Blocked(a.Org, &a.Attempt.Payer); blocked {
			a.Reason = payment.Failure{Code: payment.AntiFraud, Detail: kind}
		}
	}
	breach := a.applyLimits(limits, rules.BoundCache)
	switch {
	case len(a.CountedBy) == 0, a.isFailover() && !breach.IsZero():
		return a.handleObjection(breach)
	case a.Reason.IsZero():
		a.Reason = breach
	}
	return a.step(ToCount)
}

// applyLimits checks the attempt against the limits on the amount of one payment, and returns the first objection. It
// collects the velocity limits in CountedBy, so that the account's actor counts the attempt. It computes Terms.Bounds
// from the volume limits, so that the writer checks them. If no volume limit depends on the payer, attempts with equal
// bounds share one slice.
func (a *Admission) applyLimits(limits []*directory.Limit, volumes *BoundCache) (breach payment.Failure) {
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

// isPersonal tells whether the limit has a separate count for each payer or payee.
func isPersonal(l *directory.Limit) bool { return l.Scope != directory.ScopePartner }

func isPersonalVolume(l *directory.Limit) bool { return l.Kind.IsVolume() && isPersonal(l) }

// breachOf returns the failure of a transaction that would exceed the limit.
func breachOf(l *directory.Limit) payment.Failure {
	return payment.Failure{Code: payment.LimitExceeded, Detail: string(l.Kind)}
}

// boundOf returns the bound that a volume limit sets for a transaction on the day. subject identifies the payer whose
// transactions the limit counts; it is empty if the limit counts all payers together.
func boundOf(l *directory.Limit, dayName, subject string) payment.Bound {
	return payment.Bound{
		Volume: payment.Volume{Limit: l.ID, Window: l.CounterWindow(dayName), Subject: subject}, Max: l.MaxAmount, Breach: breachOf(l),
	}
}
