package check_test

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// investmentAccount returns an account that belongs to one contract only: that of the investment's capital.
func (w *contractStore) investmentAccount() ledger.Account {
	return ledger.Account{
		Path:  ledger.Path("A:mudaraba:" + w.contracts["investment secular"].String()),
		Asset: money.Asset{Currency: "SAR", Env: money.Prod},
	}
}

// changeLines returns a function that changes each line on the pages of investmentAccount.
func changeLines(change func(*store.Line)) func(*fixture.Corrupter, *contractStore) {
	return func(p *fixture.Corrupter, w *contractStore) {
		keys, rows := p.Rows(store.KeyPages(nil, w.FirstDemo.Org, w.investmentAccount()))
		for i, row := range rows {
			var changed []byte
			fixture.Must(p.T, store.DecodePage(row, func(l *store.Line) (bool, error) {
				change(l)
				changed = store.EncodeLine(changed, l)
				return true, nil
			}))
			p.Group.Set(keys[i], changed)
		}
	}
}

func TestLinesOfContractAccountsAreCompared(t *testing.T) {
	for _, f := range []struct {
		name     string
		change   func(*fixture.Corrupter, *contractStore)
		wantText string
	}{
		{"another amount and its total", changeLines(raiseAmount), "the totals are"},
		{"another amount", changeLines(func(l *store.Line) { l.Amount = fixture.MustAdd(l.Amount, 1) }), "is not its posting"},
		{"another total", changeLines(func(l *store.Line) { l.Totals.CreditsPosted = fixture.MustAdd(l.Totals.CreditsPosted, 1) }), "the totals are"},
		{"the other side", changeLines(func(l *store.Line) {
			l.Side = ledger.Credit
			l.Totals.DebitsPosted, l.Totals.CreditsPosted = l.Totals.CreditsPosted, l.Totals.DebitsPosted
		}), "the totals are"},
		{"no page", func(p *fixture.Corrupter, w *contractStore) {
			p.DeleteAll(store.KeyPages(nil, w.FirstDemo.Org, w.investmentAccount()))
		}, "and no page"},
		{"a page of an account without an event", func(p *fixture.Corrupter, w *contractStore) {
			keys, rows := p.Rows(store.KeyPages(nil, w.FirstDemo.Org, w.investmentAccount()))
			otherAccount := w.investmentAccount()
			otherAccount.Path = ledger.Path("L:forgotten:" + w.contracts["investment secular"].String())
			p.Group.Set(append(store.KeyPages(nil, w.FirstDemo.Org, otherAccount), keys[0][len(keys[0])-8:]...), rows[0])
		}, "has a page and no event"},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := copyContractStore(t, fixture.Paged)
			w.Corrupt(t, func(p *fixture.Corrupter) { f.change(p, w) })
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, 2)
			wantSomewhere(t, report, f.wantText)
		})
	}
}

// Each contract has accounts that belong to it only. Their number is unbounded, so the checker does not hold them in
// memory. It holds all other accounts, also those that contracts share.
func TestContractAccountsAreNotHeldInMemory(t *testing.T) {
	w := copyContractStore(t, fixture.Paged)
	report := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report)
	if notHeld := report.Counts.Accounts - report.Counts.AccountsInMemory; notHeld < uint64(len(w.contracts)) {
		t.Errorf("%d accounts of %d contracts were not held in memory, of %d in all", notHeld, len(w.contracts), report.Counts.Accounts)
	}
}
