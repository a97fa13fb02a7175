package check_test

import (
	"testing"

	contractactor "mizan/actors/contract"
	"mizan/internal/clock"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

func TestContractsOfEveryProductBreakNoRule(t *testing.T) {
	for name, layout := range map[string]int{"in page buffers": fixture.Buffered, "on pages": fixture.Paged} {
		t.Run(name, func(t *testing.T) {
			w := copyContractStore(t, layout)
			w.withView(t, func(view *posting.View) {
				for _, p := range contract.Products {
					for reading := range p.Variants {
						if n, err := contractactor.Count(view, w.FirstDemo.Org, p, reading, money.Prod, money.Test); err != nil || n == 0 {
							t.Errorf("the store has %d contracts of %s (%v): contractStore.createContracts has to create some", n, p.Variants[reading].Name, err)
						}
					}
				}
			})
			fixture.WantBroken(t, w.Check(t, check.Inputs{}))
		})
	}
}

// withView opens the store and calls fn with a view of it.
func (w *contractStore) withView(t testing.TB, fn func(view *posting.View)) {
	t.Helper()
	j := fixture.OpenJournal(t, &w.Store, clock.NewManual(w.at), nil)
	view := j.View()
	fn(view)
	view.Close()
	fixture.Must(t, j.Close())
}

// contractFault is one fault made in the contracts of a sound store.
type contractFault struct {
	name        string
	brokenRules []int
	wantText    string // text that at least one detail of the report must contain
	make        func(t *testing.T, w *contractStore)
}

func TestFaultsInContractsAreFound(t *testing.T) {
	for _, list := range [][]contractFault{lifecycleFaults, columnFaults, timedContractFaults, numberFaults, contractListFaults, registerFaults, cachedReplyFaults, screeningFaults} {
		for _, f := range list {
			t.Run(f.name, func(t *testing.T) {
				w := copyContractStore(t, fixture.Paged)
				f.make(t, w)
				report := w.Check(t, check.Inputs{})
				fixture.WantBroken(t, report, f.brokenRules...)
				wantSomewhere(t, report, f.wantText)
			})
		}
	}
}
