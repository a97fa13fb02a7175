package books

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// For rule 2 of the checker (totals, pages, months), this file checks the split of a partner's balance. A credit
// first reduces the amount that the partner owes. The part of a debit that exceeds the available balance is added to
// the amount that the partner owes.

// isForced tells whether an event holds a partner's money even if too little is available. The hold of a refund is
// forced because the money belongs to the payer. The hold of a two-phase payment is forced too: if the payment can't
// cover its fee, the partner owes the missing part after the capture. A payout without enough money is refused
// instead.
func isForced(e *ledger.Event) bool {
	return e.Source.Kind == ledger.Transaction && (e.Name == string(payment.Refund) || e.Name == string(payment.HoldPayment))
}

// changeForced changes the sum of an account's forced holds: those for which too little may have been available.
func (a *account) changeForced(change func(money.Amount, money.Amount) (money.Amount, error), p *ledger.Posting) {
	if p.Side != ledger.Debit {
		return
	}
	if forced, err := change(a.forcedDebits, p.Amount); err == nil { // an error means that a total is out of range too, which is reported
		a.forcedDebits = forced
	}
}

// partnerSplit says how an entry divides a debit or credit of a partner between two accounts: the available account, and the
// debt account with the amount that the partner owes.
type partnerSplit struct {
	asset           money.Asset
	available, owed money.Signed   // the debits of the two accounts; a credit is negative
	paths           [2]ledger.Path // paths of the available account and of the debt account
	hasPartner      bool           // a posting is on one of the two accounts
}

// splitOf reads the split from an entry's postings.
func splitOf(postings []ledger.Posting) (split partnerSplit) {
	for i := range postings {
		p := &postings[i]
		number, owed := scan.Between(string(p.Account), scan.OwedPrefix, scan.OwedSuffix)
		if !owed {
			var available bool
			if number, available = scan.Between(string(p.Account), scan.AvailablePrefix, scan.AvailableSuffix); !available {
				continue
			}
		}
		split.hasPartner, split.asset = true, p.Asset
		split.paths = [2]ledger.Path{ledger.Path(scan.AvailablePrefix + number + scan.AvailableSuffix), ledger.Path(scan.OwedPrefix + number + scan.OwedSuffix)}
		if owed {
			split.owed, _ = split.owed.Add(scan.Net(p)) // PostingsFault has checked the range
		} else {
			split.available, _ = split.available.Add(scan.Net(p))
		}
	}
	return split
}

// splitFault says what is wrong with how an entry splits a partner's balance. The text is empty if nothing is wrong. splitFault
// must be called before the entry is applied. A payout takes only money that was held before, and a settlement takes only money
// that is available, so neither may post anything on the debt account.
func (b *Books) splitFault(e *ledger.Event) string {
	isSettlement := e.Source.Kind == ledger.Settlement && scan.SameAsset(e.Entry.Postings)
	if !isSettlement && e.Source.Kind != ledger.Transaction || e.Entry.Phase != ledger.Posted && e.Entry.Phase != ledger.Capture {
		return ""
	}
	split := splitOf(e.Entry.Postings)
	if !split.hasPartner {
		return ""
	}
	total, err := split.available.Add(split.owed)
	if err != nil || split.available.Negative != split.owed.Negative && !split.available.IsZero() && !split.owed.IsZero() {
		return "moves a partner's balance in both directions"
	}
	// A debit goes to the available account first, a credit to the debt account first. bound is the largest part that
	// this first account may get.
	var bound money.Signed
	_, providerSide := scan.NetOnProvider(e.Entry.Postings)
	switch {
	case total.Negative:
		bound = b.totals(split.paths[1], split.asset).Balance(ledger.Debit)
	case isSettlement, providerSide == ledger.Credit && isCharge(e):
		bound.Abs = total.Abs
	default:
		bound = b.totals(split.paths[0], split.asset).Available()
	}
	requiredPart := money.Amount{} // the part that the first account must get
	if !bound.Negative {
		requiredPart = bound.Abs.Min(total.Abs)
	}
	storedPart := split.available.Abs
	if total.Negative {
		storedPart = split.owed.Abs
	}
	if storedPart != requiredPart {
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
