package journal

import (
	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/posting"
)

// NewBalances reads the balances after each event from the accounts' lines; nil for an event
// without an entry.
func NewBalances(view *posting.View, who *auth.Principal, events []ledger.Event) ([]*jsonform.Balances, error) {
	after, err := view.TotalsAfter(who.Org, events, who.Sees)
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
			if b.Shown[i] = who.Sees(path); b.Shown[i] {
				b.After[i] = after[n][i].Balance(path.NormalSide())
			}
		}
		balances[n] = b
	}
	return balances, nil
}
