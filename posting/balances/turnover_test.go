package balances_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// pages reads a trial balance so many accounts at a time.
func (f *fixture) pages(q balances.AsOf, limit int) listing {
	f.t.Helper()
	return f.pagesOf(org, q, limit)
}

// pagesOf is pages for an organization.
func (f *fixture) pagesOf(of ledger.ID, q balances.AsOf, limit int) (lines listing) {
	f.t.Helper()
	for q.Paged = true; ; {
		v := f.Journal.View()
		n := 0
		err := f.reader.TrialBalance(v, of, q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			lines.add(a, t)
			q.After = &a
			n++
			return n < limit, nil
		})
		v.Close()
		if err != nil {
			f.t.Fatal(err)
		}
		if n < limit {
			return lines
		}
	}
}

// thousand books so many entries of an organization, and 24 more, from the bank to so many
// partners in turn.
func thousand(of ledger.ID, n uint64, partners int) *posting.Change {
	c := addManyAccounts(posting.MaxSteps)
	for i := range c.Steps {
		c.Steps[i].Org = of
		postings := c.Steps[i].Events[0].Entry.Postings
		postings[0].Amount, postings[1].Amount = amount(n), amount(n)
		postings[1].Account = ledger.PartnerAvailable(int64(1 + i%partners))
	}
	return c
}

// addAccounts is the n-th thousand, with a partner for each entry.
func addAccounts(n int) *posting.Change {
	c := thousand(org, 1, posting.MaxSteps)
	for i := range c.Steps {
		c.Steps[i].Events[0].Entry.Postings[1].Account = ledger.PartnerAvailable(int64(1 + n*posting.MaxSteps + i))
	}
	return c
}

// sixteen is the trial balance of a thousand with sixteen partners, who have so much each.
func sixteen(each int) listing {
	lines := listing{fmt.Sprintf("A:bank %v: %d 0 0 0", usd, 16*each)}
	for partner := range 16 {
		lines = append(lines, fmt.Sprintf("L:partner:%d:available %v: 0 %d 0 0", 1+partner, usd, each))
	}
	slices.Sort(lines)
	return lines
}

// The turnover kept for the next page belongs to one organization, even if another one has as
// many events.
func TestCachedTurnoverIsForOneOrganization(t *testing.T) {
	f := open(t)
	other := uuid.New()
	f.MustSubmit(thousand(org, 1, 16))
	stamps := f.MustSubmit(thousand(other, 3, 16)).Stamps
	q := balances.AsOf{Env: money.Prod, At: stamps[len(stamps)-1].Updated}
	for range 2 {
		for of, want := range map[ledger.ID]listing{org: sixteen(64), other: sixteen(3 * 64)} {
			if got := f.pagesOf(of, q, 4); !slices.Equal(got, want) {
				t.Errorf("of %v it is %q, want %q", of, got, want)
			}
			if !f.reader.HasKeptTurnover() {
				t.Fatal("nothing was kept")
			}
		}
	}
}

// It is not used after a checkpoint that was made since.
func TestCachedTurnoverIsForOneCheckpoint(t *testing.T) {
	f := open(t)
	f.MustSubmit(thousand(org, 1, 16))
	f.at(1, 12)
	stamps := f.MustSubmit(thousand(org, 1, 16)).Stamps
	q := balances.AsOf{Env: money.Prod, At: stamps[len(stamps)-1].Updated}
	for range 2 {
		if got := f.pages(q, 4); !slices.Equal(got, sixteen(128)) {
			t.Errorf("it is %q", got)
		}
		if !f.reader.HasKeptTurnover() {
			t.Fatal("nothing was kept")
		}
		if made := f.checkpoints(balances.Checkpoint{}); len(made) != 1 {
			t.Fatalf("made were %+v", made)
		}
	}
}

// A kept turnover may begin after a query's accounts or end before its last one, because another
// query has left it, or because there were too many accounts.
func TestCachedTurnoverMayCoverOtherAccounts(t *testing.T) {
	random := random(t)
	f := open(t)
	f.MustSubmit(thousand(org, 1, 50)) // as many events are worth keeping
	const days = 10
	instants := history(f, random, days)[:3]
	for range 300 {
		q := balances.AsOf{Env: money.Prod, At: instants[random.IntN(len(instants))], Paged: random.IntN(2) == 0}
		if random.IntN(3) == 0 {
			q.On = ledger.DateOf(start) + ledger.Date(random.IntN(days))
		}
		q.Prefix = []string{"", "", "L:", "L:partner:1", "A:"}[random.IntN(5)]
		if random.IntN(2) == 0 {
			q.After = &ledger.Account{Path: ledger.PartnerAvailable(1 + random.Int64N(60)), Asset: usd}
		}
		v := f.Journal.View()
		var want, got listing
		err := errors.Join(balances.FromPages(v, org, q, want.add), f.reader.FromCheckpoint(v, org, q, 1+random.IntN(40), got.add))
		v.Close()
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v:\nfrom the journal %q\nfrom the pages   %q", q, got, want)
		}
	}
	if !f.reader.HasKeptTurnover() {
		t.Error("nothing was kept")
	}
}

// Of too many accounts the first ones are kept for the next pages. A reader of all of them needs
// more memory than is kept.
func TestTurnoverOfManyAccountsKeepsTheFirst(t *testing.T) {
	f := open(t)
	for n := range balances.MaxKept/posting.MaxSteps + 1 {
		f.MustSubmit(addAccounts(n))
	}
	q := balances.AsOf{Env: money.Prod, At: 1 << 62}
	for _, paged := range []bool{false, true} {
		q.Paged = paged
		v, n := f.Journal.View(), 0
		err := f.reader.TrialBalance(v, org, q, func(ledger.Account, *ledger.Totals) (bool, error) {
			n++
			return n < 100, nil
		})
		v.Close()
		if err != nil || n != 100 {
			t.Fatalf("paged %v: %d accounts, %v", paged, n, err)
		}
		if f.reader.HasKeptTurnover() != paged {
			t.Errorf("paged %v: something is kept: %v", paged, !paged)
		}
	}
}

// Fifteen accounts are read from their pages, sixteen from the journal, whose sums are kept.
func TestFewAccountsAreReadFromTheirPages(t *testing.T) {
	for partners, keeps := range map[int]bool{balances.FewAccounts - 2: false, balances.FewAccounts - 1: true} {
		f := open(t)
		f.MustSubmit(thousand(org, 1, partners))
		if got := f.trial(balances.AsOf{Env: money.Prod, At: 1 << 62}); len(got) != 1+partners {
			t.Errorf("it is %q", got)
		}
		if f.reader.HasKeptTurnover() != keeps {
			t.Errorf("of %d accounts something is kept: %v", 1+partners, !keeps)
		}
	}
}

// A checkpoint is used up to eight distances before the moment, because none is further if
// checkpoints are made.
func TestDistantCheckpointIsNotUsed(t *testing.T) {
	const long = 8 * balances.CheckpointEvents
	for _, c := range []struct {
		from    balances.Checkpoint
		through uint64
		near    bool
	}{
		{balances.Checkpoint{}, 0, true},
		{balances.Checkpoint{}, long, true},
		{balances.Checkpoint{}, long + 1, false},
		{balances.Checkpoint{Seq: 100, Accounts: 8_192}, 100 + long, true},
		{balances.Checkpoint{Seq: 100, Accounts: 8_192}, 101 + long, false},
		{balances.Checkpoint{Seq: 100, Accounts: 10_000}, 100 + 8*4*10_000, true},
		{balances.Checkpoint{Seq: 100, Accounts: 10_000}, 101 + 8*4*10_000, false},
		{balances.Checkpoint{Seq: 100}, 99, false}, // of events that do not exist
	} {
		if near := balances.IsNear(&c.from, c.through); near != c.near {
			t.Errorf("from event %d with %d accounts to %d: %v", c.from.Seq, c.from.Accounts, c.through, near)
		}
	}
}
