package directory

import (
	"slices"
	"testing"

	"mizan/ledger"
)

// The names are those of the events and states that the checker accepts, and no others.
func TestNamesAreThoseOfLegalEvents(t *testing.T) {
	for kind := range lifecycles {
		if kind == ledger.Rate {
			continue // its states are values
		}
		events, states := EventNames(kind), States(kind)
		from := append([]State{""}, states...)
		for _, action := range []Action{Create, Update, Activate, Deactivate, Withdraw, Suspend, Archive, Revoke, Use, Rotate, Settle, StoreReply} {
			isLegal := slices.ContainsFunc(from, func(before State) bool {
				return slices.ContainsFunc(states, func(after State) bool { return IsLegalTransition(kind, string(action), string(before), string(after)) })
			})
			if isLegal != slices.Contains(events, action) {
				t.Errorf("%s: the event %s is legal: %v", kind.Word(), action, isLegal)
			}
		}
	}
	if got := EventNames(ledger.Rate); !slices.Equal(got, []Action{Create, Update}) || States(ledger.Rate) != nil {
		t.Errorf("rates have the events %v and the states %v", got, States(ledger.Rate))
	}
	if EventNames(ledger.Contract) != nil || States(ledger.Contract) != nil {
		t.Error("contracts have names here")
	}
}
