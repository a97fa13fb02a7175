package contracts

import (
	"slices"
	"testing"

	"mizan/ledger/contract"
	"mizan/snapshots/check/scan"
)

// POSTINGS: "None is a decision too". Each event of each product's machine is in the checker's
// table, or in the list of events that never move money.
func TestEveryContractEventHasAnEntryRule(t *testing.T) {
	shared := []contract.Action{contract.Create, contract.Submit, contract.Pass, contract.Reject}
	never := map[*contract.Product][]contract.Action{
		contract.Certificate: {contract.Offer, contract.CloseSubscription, contract.Mature},
		contract.Partnership: {contract.Activate},
		contract.Lease:       {contract.MarkTransfer},
		contract.Managed:     {contract.Activate},
		contract.Deposit:     {contract.Mature},
	}
	for _, p := range contract.Products {
		known := make(map[contract.Action]bool)
		for reading, variant := range p.Variants {
			for _, name := range p.Machine(reading).Events() {
				known[name] = true
				_, carries := contractEntries[p][name]
				if none := slices.Contains(shared, name) || slices.Contains(never[p], name); carries == none {
					t.Errorf("%s: %s has an entry: %v, and has none: %v", variant.Name, name, carries, none)
				}
			}
		}
		for name, carries := range contractEntries[p] {
			if !known[name] || carries != scan.MustPost && carries != scan.MayPost {
				t.Errorf("%s: no machine knows %s, or its entry is of another kind", p.Variants[contract.Secular].Name, name)
			}
		}
	}
}

// The checker's table of events that move money agrees with the products' handlers.
func TestEntryRulesAgreeWithTheProductsHandlers(t *testing.T) {
	for _, p := range contract.Products {
		for _, d := range p.Handlers {
			for _, by := range d.Transitions {
				if _, carries := contractEntries[p][by]; carries && !d.Moves {
					t.Errorf("%s: %s moves money, and does not say so", p.Variants[contract.Secular].Name, by)
				}
			}
		}
	}
}
