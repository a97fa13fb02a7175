package directory

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// OpeningReference is the reference of the opening balances of the sandbox's partners.
const OpeningReference = "sandbox-opening-balance"

// openingMajor is the opening balance in each asset, in major units.
var openingMajor = money.FromUint64(1_000_000)

// NewOpening decides the settlement that gives a sandbox partner 1,000,000 major units of every
// asset that a transaction can name and that has a scale. Each environment has an event of its
// own, because no entry may mix environments.
func NewOpening(id ledger.ID, owner *Partner) (*Settlement, []ledger.Event, error) {
	s := &Settlement{ID: id, Org: owner.Org, Partner: owner.Number, Reference: OpeningReference}
	var events []ledger.Event
	for _, env := range []money.Env{money.Prod, money.Test} {
		entry := &ledger.Entry{Phase: ledger.Posted}
		for _, asset := range money.AcceptedAssets(env) {
			amount, err := openingAmount(asset)
			if err != nil {
				return nil, nil, err
			}
			s.Lines = append(s.Lines, SettlementLine{Asset: asset, Amount: amount})
			entry.Postings = append(entry.Postings,
				ledger.Posting{Account: ledger.Bank, Asset: asset, Side: ledger.Debit, Amount: amount},
				ledger.Posting{Account: ledger.PartnerAvailable(owner.Number), Asset: asset, Side: ledger.Credit, Amount: amount})
		}
		if err := entry.Check(); err != nil {
			return nil, nil, err
		}
		event := moved(ledger.Settlement, id, Settle, StateSettled, StateSettled)
		if len(events) == 0 {
			event = began(ledger.Settlement, id, StateSettled)
		}
		event.Entry = entry
		events = append(events, event)
	}
	return s, events, nil
}

func openingAmount(asset money.Asset) (money.Amount, error) {
	digits, _ := asset.Scale()
	amount := openingMajor
	for range digits {
		var err error
		if amount, err = amount.Mul(money.FromUint64(10)); err != nil {
			return money.Amount{}, err
		}
	}
	return amount, nil
}
