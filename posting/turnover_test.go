package posting_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// pages reads a trial balance so many accounts at a time.
func (r *fixture) pages(q posting.AsOf, limit int) balances {
	r.t.Helper()
	return r.pagesOf(org, q, limit)
}

// pagesOf is pages for an organization.
func (r *fixture) pagesOf(of ledger.ID, q posting.AsOf, limit int) (lines balances) {
	r.t.Helper()
	for q.Limit = limit; ; {
		v := r.View()
		n := 0
		err := v.TrialBalance(of, q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			lines.add(a, t)
			q.Past = &a
			n++
			return n < limit, nil
		})
		v.Close()
		if err != nil {
			r.t.Fatal(err)
		}
		if n < limit {
			return lines
		}
	}
}

// pageOf is a page size for which continuing from the beginning is cheaper: reading one account
// alone costs as much as 40 events.
const pageOf = 64

// thousand books so many entries of an organization, and 24 more.
func thousand(of ledger.ID, amount uint64) *posting.Change {
	c := throng(posting.MaxSteps)
	for i := range c.Steps {
		c.Steps[i].Org = of
		for n := range c.Steps[i].Events[0].Entry.Postings {
			c.Steps[i].Events[0].Entry.Postings[n].Amount = money.FromUint64(amount)
		}
	}
	return c
}

// The turnover kept for the next page belongs to one organization, even if another one has as
// many events.
func TestWhatIsKeptForTheNextPageIsOfOneOrganization(t *testing.T) {
	r := open(t)
	other := uuid.New()
	r.must(thousand(org, 1))
	stamps := r.must(thousand(other, 3)).Stamps
	q := posting.AsOf{Env: money.Prod, At: stamps[len(stamps)-1].Updated}
	for range 2 {
		for of, want := range map[ledger.ID]balances{
			org:   {"A:bank " + usd.String() + ": 1024 0 0 0", "L:partner:1:available " + usd.String() + ": 0 1024 0 0"},
			other: {"A:bank " + usd.String() + ": 3072 0 0 0", "L:partner:1:available " + usd.String() + ": 0 3072 0 0"},
		} {
			if got := r.pagesOf(of, q, pageOf); !slices.Equal(got, want) {
				t.Errorf("of %v it is %q, want %q", of, got, want)
			}
			if !r.Shares() {
				t.Fatal("nothing was kept")
			}
		}
	}
}

// It is not used after a checkpoint that was made since.
func TestWhatIsKeptForTheNextPageIsOfOneCheckpoint(t *testing.T) {
	r := open(t)
	r.must(thousand(org, 1))
	r.at(1, 12)
	stamps := r.must(thousand(org, 1)).Stamps
	q := posting.AsOf{Env: money.Prod, At: stamps[len(stamps)-1].Updated}
	want := balances{"A:bank " + usd.String() + ": 2048 0 0 0", "L:partner:1:available " + usd.String() + ": 0 2048 0 0"}
	for range 2 {
		if got := r.pages(q, pageOf); !slices.Equal(got, want) {
			t.Errorf("it is %q", got)
		}
		if !r.Shares() {
			t.Fatal("nothing was kept")
		}
		if made := r.checkpoints(posting.Checkpoint{}); len(made) != 1 {
			t.Fatalf("made were %+v", made)
		}
	}
}
