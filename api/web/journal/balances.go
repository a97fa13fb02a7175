package journal

import (
	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/posting"
)

// NewBalances returns one element for each event: the balances that the changed accounts have after
// the event, or nil if the event has no entry. The balances come from the accounts' lines. A line is
// a posting with the account's totals after the posting.
func NewBalances(view *posting.View, caller *auth.Principal, events []ledger.Event) ([]*jsonform.Balances, error) {
	totals, err := view.TotalsAfter(caller.Org, events, caller.MayRead)
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
			if b.Shown[i] = caller.MayRead(path); b.Shown[i] {
				b.After[i] = totals[n][i].Balance(path.NormalSide())
			}
		}
		balances[n] = b
	}
	return balances, nil
}
