package books

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// Rule 2, the split of a partner's balance. A credit first pays off what the partner owes;
// of a debit, what exceeds the available balance becomes owed.

// isForced tells whether an event holds a partner's money whether or not it is
// there: a refund's is the payer's, and what a two-phase payment lacks for its
// fee becomes owed only when it is captured (POSTINGS, "Payments"). A payout that
// lacks money is refused instead.
func isForced(e *ledger.Event) bool {
	return e.Source.Kind == ledger.Transaction && (e.Name == string(payment.Refund) || e.Name == string(payment.HoldPayment))
}

// force follows what forced holds have of an account's pending debits.
func (a *account) force(change func(money.Amount, money.Amount) (money.Amount, error), p *ledger.Posting) {
	if p.Side != ledger.Debit {
		return
	}
	if forced, err := change(a.forced, p.Amount); err == nil { // else a total is out of range too
		a.forced = forced
	}
}

// partnerSplit is a partner's line of an entry: what of it is on the account of what is
// available, and what on that of what is owed.
type partnerSplit struct {
	asset           money.Asset
	available, owed money.Signed // what is debited
	paths           [2]ledger.Path
	found           bool
}

func splitOf(postings []ledger.Posting) (s partnerSplit) {
	for i := range postings {
		p := &postings[i]
		number, owed := scan.Between(string(p.Account), scan.OwedHead, scan.OwedTail)
		if !owed {
			var available bool
			if number, available = scan.Between(string(p.Account), scan.AvailableHead, scan.AvailableTail); !available {
				continue
			}
		}
		s.found, s.asset = true, p.Asset
		s.paths = [2]ledger.Path{ledger.Path(scan.AvailableHead + number + scan.AvailableTail), ledger.Path(scan.OwedHead + number + scan.OwedTail)}
		if owed {
			s.owed, _ = s.owed.Add(scan.Net(p)) // unbalanced has looked at the range
		} else {
			s.available, _ = s.available.Add(scan.Net(p))
		}
	}
	return s
}

// split says what is wrong with how an entry splits a partner's line, before it
// is posted; empty: nothing. A credit first pays off what the partner owes. Of a
// debit, what is more than is available becomes owed; but what a payout takes was
// held before, all of it, and a settlement takes only what is there.
func (b *Books) split(e *ledger.Event) string {
	settles := e.Source.Kind == ledger.Settlement && scan.SameAsset(e.Entry.Postings)
	if !settles && e.Source.Kind != ledger.Transaction || e.Entry.Phase != ledger.Posted && e.Entry.Phase != ledger.Capture {
		return ""
	}
	s := splitOf(e.Entry.Postings)
	if !s.found {
		return ""
	}
	all, err := s.available.Add(s.owed)
	if err != nil || s.available.Negative != s.owed.Negative && !s.available.IsZero() && !s.owed.IsZero() {
		return "moves a partner's line both ways"
	}
	var bound money.Signed
	_, provider := scan.OnProvider(e.Entry.Postings)
	switch {
	case all.Negative:
		bound = b.totals(s.paths[1], s.asset).Balance(ledger.Debit)
	case settles, provider == ledger.Credit && isCharge(e):
		bound.Abs = all.Abs
	default:
		bound = b.totals(s.paths[0], s.asset).Available()
	}
	first := money.Amount{} // what goes where it goes first
	if !bound.Negative {
		first = bound.Abs.Min(all.Abs)
	}
	said := s.available.Abs
	if all.Negative {
		said = s.owed.Abs
	}
	if said != first {
		return "splits a partner's line another way than its accounts ask for"
	}
	return ""
}

func isCharge(e *ledger.Event) bool {
	return e.Name == string(payment.Settle) || e.Name == string(payment.Capture)
}

// totals are an account's as they are before an entry.
func (b *Books) totals(path ledger.Path, asset money.Asset) ledger.Totals {
	if a := b.accounts[ledger.Account{Path: path, Asset: asset}]; a != nil {
		return a.totals
	}
	return ledger.Totals{}
}
