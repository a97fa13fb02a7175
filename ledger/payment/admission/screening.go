package admission

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Rules are what an attempt is held against.
type Rules struct {
	Limits  []*directory.Limit // the partner's in force: a slice that never changes
	Blocks  BlockList          // nil: it has no entries
	Volumes *Volumes
	BIN     []byte // the beginning of the card's number; nil: as the request has it
}

// BlockList finds the first entry that names a payer, and says of what kind it is.
type BlockList interface {
	Blocked(org ledger.ID, p *directory.Payer) (kind string, blocked bool)
}

// Screen holds the attempt against the block list, unless something has objected or failover is
// under way, and against the limits, always: they say which of them count it. Nearly always there
// are neither.
func (a *Admission) Screen(rules Rules) Task {
	limits, listed := rules.Limits, rules.Blocks != nil && !a.failingOver()
	if len(limits) == 0 && !listed {
		return a.found(payment.Failure{})
	}
	a.CountedBy = nil
	a.Attempt = directory.Attempt{Type: a.kind(), Asset: a.Terms.Asset, Terminal: a.Terms.Terminal, Again: a.failingOver()}
	if listed || slices.ContainsFunc(limits, isPersonal) {
		a.Attempt.Payer = PayerOf(a.Request, rules.BIN)
	}
	if listed && a.Reason.IsZero() {
		if kind, blocked := rules.Blocks.Blocked(a.Org, &a.Attempt.Payer); blocked {
			a.Reason = payment.Failure{Code: payment.AntiFraud, Detail: kind}
		}
	}
	breach := a.applyLimits(limits, rules.Volumes)
	switch {
	case len(a.CountedBy) == 0, a.failingOver() && !breach.IsZero():
		return a.found(breach)
	case a.Reason.IsZero():
		a.Reason = breach
	}
	return a.take(ToCount)
}

// applyLimits holds the attempt against the limits on one payment, keeps the limits on velocity,
// which are counted elsewhere, and makes Terms.Bounds of those on volumes, which the writer
// judges. It returns the first objection. Bounds are the same for many attempts if no limit on a
// volume is personal: then they are shared.
func (a *Admission) applyLimits(limits []*directory.Limit, volumes *Volumes) (breach payment.Failure) {
	var (
		today *day
		some  chosen
		own   = len(limits) > directory.MaxLimits || slices.ContainsFunc(limits, isPersonalVolume)
	)
	for i, l := range limits {
		subject, bounds := l.Bounds(&a.Attempt)
		switch {
		case !bounds:
		case l.Kind == directory.PerTransaction:
			if breach.IsZero() && l.MaxAmount.Less(a.Request.Amount) {
				breach = breachOf(l)
			}
		case l.Kind == directory.Velocity:
			a.CountedBy = append(a.CountedBy, l)
		default:
			if today == nil {
				today = volumes.day(a.At.Date())
			}
			if own {
				a.bind(boundOf(l, today.name, subject), len(limits))
			} else {
				some.add(i)
			}
		}
	}
	if today != nil && !own {
		a.Terms.Bounds = today.bounds(limits, &some)
	}
	return breach
}

// bind adds a bound of this attempt's own.
func (a *Admission) bind(b payment.Bound, most int) {
	if a.Terms.Bounds == nil {
		a.Terms.Bounds = make([]payment.Bound, 0, most)
	}
	b.Name()
	a.Terms.Bounds = append(a.Terms.Bounds, b)
}

// isPersonal tells whether it matters to the limit who pays or is paid.
func isPersonal(l *directory.Limit) bool { return l.Scope != directory.ScopePartner }

func isPersonalVolume(l *directory.Limit) bool { return l.Kind.Volume() && isPersonal(l) }

// breachOf is why a transaction is rejected that would exceed the limit.
func breachOf(l *directory.Limit) payment.Failure {
	return payment.Failure{Code: payment.LimitExceeded, Detail: string(l.Kind)}
}

func boundOf(l *directory.Limit, today, subject string) payment.Bound {
	return payment.Bound{
		Volume: payment.Volume{Limit: l.ID, Window: l.CounterWindow(today), Subject: subject}, Max: l.MaxAmount, Breach: breachOf(l),
	}
}
