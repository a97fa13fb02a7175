package journal

import (
	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/posting"
)

// NewBalances returns the accounts' balances after each event; nil for an event without an entry. It
// reads the accounts' lines: their postings, each with the account's totals after it.
func NewBalances(view *posting.View, caller *auth.Principal, events []ledger.Event) ([]*jsonform.Balances, error) {
	totals, err := view.TotalsAfter(caller.Org, events, caller.Sees)
	if err != nil {
		return nil, err
	}
	balances := make([]*jsonform.Balances, len(events))
	for n := range events {
		entry := events[n].Entry
		if entry == nil {
			continue
		}
		b := &jsonform.Balances{After: make([]money.Signed, len(entry.Postings)), Shown: make([]bool, len(entry.Postings))}
		for i := range entry.Postings {
			path := entry.Postings[i].Account
			if b.Shown[i] = caller.Sees(path); b.Shown[i] {
				b.After[i] = totals[n][i].Balance(path.NormalSide())
			}
		}
		balances[n] = b
	}
	return balances, nil
}
