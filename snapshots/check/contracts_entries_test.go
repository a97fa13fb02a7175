package check

import (
	"slices"
	"testing"

	"mizan/ledger"
	"mizan/ledger/contract"
)

// POSTINGS: "None is a decision too". Each event of each product's machine is in the
// checker's table, or is one of those that never move money.
func TestEveryEventOfAContractIsDecided(t *testing.T) {
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
			if !known[name] || carries != posts && carries != mayPost {
				t.Errorf("%s: no machine knows %s, or its entry is of another kind", p.Variants[contract.Secular].Name, name)
			}
		}
	}
}

// What the checker believes to move money is what the products say of their handlers.
func TestWhatMovesMoneySaysSo(t *testing.T) {
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

func TestOwnAccountsAreTold(t *testing.T) {
	const id = "5d0d1a52-6f3e-4a43-9d9e-6a4bd8f6c001"
	for path, own := range map[string]bool{
		"A:musharaka:" + id: true, "Q:holders:" + id + ":7a1c9d40-1f0e-4f57-8a55-0b8f6f0e9a02": true, "M:arrears:" + id: true,
		"L:customer:" + id + ":current": false, "A:partner_receivable:" + id: false, "A:cash:AE": false, "I:rent": false, "A:musharaka:" + id[:35]: false,
	} {
		if got, is := ownerContract(ledger.Path(path)); is != own || is && got.String() != id {
			t.Errorf("%s is a contract's own: %v (%v)", path, is, got)
		}
	}
}
