package books

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// Rule 2, the split of a partner's balance. A credit first reduces the amount that the partner owes. The
// part of a debit that exceeds the available balance is added to that amount.

// isForced tells whether an event holds a partner's money even if too little is available. That is so
// for refunds, because the money belongs to the payer, and for two-phase payments: if such a payment
// can't cover its fee, the partner owes the missing part after the capture. A payout without enough
// money is refused instead.
func isForced(e *ledger.Event) bool {
	return e.Source.Kind == ledger.Transaction && (e.Name == string(payment.Refund) || e.Name == string(payment.HoldPayment))
}

// changeForced changes the part of an account's pending debits that forced holds reserve.
func (a *account) changeForced(change func(money.Amount, money.Amount) (money.Amount, error), p *ledger.Posting) {
	if p.Side != ledger.Debit {
		return
	}
	if forced, err := change(a.forced, p.Amount); err == nil { // an error is not reported here: then a total is out of range too, which is reported
		a.forced = forced
	}
}

// partnerSplit is how an entry divides a partner's debit between the available account and the
// account of what the partner owes.
type partnerSplit struct {
	asset           money.Asset
	available, owed money.Signed   // the debits of the two accounts; negative: credits
	paths           [2]ledger.Path // paths of the available account and of the account of what is owed
	hasPartner      bool           // a posting is on one of the two accounts
}

// splitOf reads the split from an entry's postings.
func splitOf(postings []ledger.Posting) (s partnerSplit) {
	for i := range postings {
		p := &postings[i]
		number, owed := scan.Between(string(p.Account), scan.OwedPrefix, scan.OwedSuffix)
		if !owed {
			var available bool
			if number, available = scan.Between(string(p.Account), scan.AvailablePrefix, scan.AvailableSuffix); !available {
				continue
			}
		}
		s.hasPartner, s.asset = true, p.Asset
		s.paths = [2]ledger.Path{ledger.Path(scan.AvailablePrefix + number + scan.AvailableSuffix), ledger.Path(scan.OwedPrefix + number + scan.OwedSuffix)}
		if owed {
			s.owed, _ = s.owed.Add(scan.Net(p)) // PostingsFault has checked the range
		} else {
			s.available, _ = s.available.Add(scan.Net(p))
		}
	}
	return s
}

// splitFault says what is wrong with how an entry splits a partner's balance; empty: nothing. It must
// be called before the entry is applied. A payout takes only money that was held before, and a
// settlement only money that is available.
func (b *Books) splitFault(e *ledger.Event) string {
	isSettlement := e.Source.Kind == ledger.Settlement && scan.SameAsset(e.Entry.Postings)
	if !isSettlement && e.Source.Kind != ledger.Transaction || e.Entry.Phase != ledger.Posted && e.Entry.Phase != ledger.Capture {
		return ""
	}
	s := splitOf(e.Entry.Postings)
	if !s.hasPartner {
		return ""
	}
	total, err := s.available.Add(s.owed)
	if err != nil || s.available.Negative != s.owed.Negative && !s.available.IsZero() && !s.owed.IsZero() {
		return "moves a partner's balance in both directions"
	}
	var bound money.Signed
	_, providerSide := scan.OnProvider(e.Entry.Postings)
	switch {
	case total.Negative:
		bound = b.totals(s.paths[1], s.asset).Balance(ledger.Debit)
	case isSettlement, providerSide == ledger.Credit && isCharge(e):
		bound.Abs = total.Abs
	default:
		bound = b.totals(s.paths[0], s.asset).Available()
	}
	availablePart := money.Amount{} // the part that goes to the available account
	if !bound.Negative {
		availablePart = bound.Abs.Min(total.Abs)
	}
	stored := s.available.Abs
	if total.Negative {
		stored = s.owed.Abs
	}
	if stored != availablePart {
		return "splits a partner's balance differently than its accounts require"
	}
	return ""
}

// isCharge tells whether the event settles or captures a charge.
func isCharge(e *ledger.Event) bool {
	return e.Name == string(payment.Settle) || e.Name == string(payment.Capture)
}

// totals returns an account's totals before the entry.
func (b *Books) totals(path ledger.Path, asset money.Asset) ledger.Totals {
	if a := b.accounts[ledger.Account{Path: path, Asset: asset}]; a != nil {
		return a.totals
	}
	return ledger.Totals{}
}
