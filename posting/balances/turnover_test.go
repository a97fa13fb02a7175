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

// trialInPages reads a trial balance in pages of limit accounts.
func (f *fixture) trialInPages(q balances.AsOf, limit int) listing {
	f.t.Helper()
	return f.trialInPagesOf(org, q, limit)
}

// trialInPagesOf is trialInPages for any organization.
func (f *fixture) trialInPagesOf(orgID ledger.ID, q balances.AsOf, limit int) (lines listing) {
	f.t.Helper()
	for q.Paged = true; ; {
		v := f.Journal.View()
		n := 0
		err := f.reader.TrialBalance(v, orgID, q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
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

// fullChange returns a change with the maximum number of entries of an organization. Each moves n from the
// bank to one of the given number of partners, in turn.
func fullChange(orgID ledger.ID, n uint64, partners int) *posting.Change {
	c := manyEntries(posting.MaxSteps)
	for i := range c.Steps {
		c.Steps[i].Org = orgID
		postings := c.Steps[i].Events[0].Entry.Postings
		postings[0].Amount, postings[1].Amount = amount(n), amount(n)
		postings[1].Account = ledger.PartnerAvailable(int64(1 + i%partners))
	}
	return c
}

// entriesOfNewPartners returns a full change in which each entry has a partner of its own. The n-th such
// change has other partners than those with smaller n.
func entriesOfNewPartners(n int) *posting.Change {
	c := fullChange(org, 1, posting.MaxSteps)
	for i := range c.Steps {
		c.Steps[i].Events[0].Entry.Postings[1].Account = ledger.PartnerAvailable(int64(1 + n*posting.MaxSteps + i))
	}
	return c
}

// trialOfSixteen returns the trial balance in which sixteen partners have the same balance.
func trialOfSixteen(balance int) listing {
	lines := listing{fmt.Sprintf("A:bank %v: %d 0 0 0", usd, 16*balance)}
	for partner := range 16 {
		lines = append(lines, fmt.Sprintf("L:partner:%d:available %v: 0 %d 0 0", 1+partner, usd, balance))
	}
	slices.Sort(lines)
	return lines
}

// The turnover that is kept for the next page belongs to one organization, and is not used for another one
// that has as many events.
func TestCachedTurnoverIsForOneOrganization(t *testing.T) {
	f := open(t)
	otherOrg := uuid.New()
	f.MustSubmit(fullChange(org, 1, 16))
	stamps := f.MustSubmit(fullChange(otherOrg, 3, 16)).Stamps
	q := balances.AsOf{Env: money.Prod, At: stamps[len(stamps)-1].Updated}
	for range 2 {
		for orgID, want := range map[ledger.ID]listing{org: trialOfSixteen(64), otherOrg: trialOfSixteen(3 * 64)} {
			if got := f.trialInPagesOf(orgID, q, 4); !slices.Equal(got, want) {
				t.Errorf("of %v it is %q, want %q", orgID, got, want)
			}
			if !f.reader.HasKeptTurnover() {
				t.Fatal("nothing was kept")
			}
		}
	}
}

// The kept turnover is not used for a checkpoint that was made later.
func TestCachedTurnoverIsForOneCheckpoint(t *testing.T) {
	f := open(t)
	f.MustSubmit(fullChange(org, 1, 16))
	f.setClock(1, 12)
	stamps := f.MustSubmit(fullChange(org, 1, 16)).Stamps
	q := balances.AsOf{Env: money.Prod, At: stamps[len(stamps)-1].Updated}
	for range 2 {
		if got := f.trialInPages(q, 4); !slices.Equal(got, trialOfSixteen(128)) {
			t.Errorf("it is %q", got)
		}
		if !f.reader.HasKeptTurnover() {
			t.Fatal("nothing was kept")
		}
		if checkpoints := f.makeCheckpoints(balances.Checkpoint{}); len(checkpoints) != 1 {
			t.Fatalf("made were %+v", checkpoints)
		}
	}
}

// The kept turnover may begin after the first account of a query, or end before its last one, because another
// query left it, or because there were too many accounts.
func TestCachedTurnoverMayCoverOtherAccounts(t *testing.T) {
	random := random(t)
	f := open(t)
	f.MustSubmit(fullChange(org, 1, 50)) // enough events for their turnover to be kept
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

// If there are too many accounts, the turnover of the first ones is kept for the next pages. For a reader of
// all accounts the turnover has more accounts than are kept.
func TestTurnoverOfManyAccountsKeepsTheFirst(t *testing.T) {
	f := open(t)
	for n := range balances.MaxKept/posting.MaxSteps + 1 {
		f.MustSubmit(entriesOfNewPartners(n))
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

// Fifteen accounts are read from their pages; sixteen are read from the journal, and the turnover is kept.
func TestFewAccountsAreReadFromTheirPages(t *testing.T) {
	for partners, wantKept := range map[int]bool{balances.FewAccounts - 2: false, balances.FewAccounts - 1: true} {
		f := open(t)
		f.MustSubmit(fullChange(org, 1, partners))
		if got := f.trial(balances.AsOf{Env: money.Prod, At: 1 << 62}); len(got) != 1+partners {
			t.Errorf("it is %q", got)
		}
		if f.reader.HasKeptTurnover() != wantKept {
			t.Errorf("of %d accounts something is kept: %v", 1+partners, !wantKept)
		}
	}
}

// A checkpoint is used if the moment is at most eight distances after it. If checkpoints are being made, the
// last one is never further back.
func TestDistantCheckpointIsNotUsed(t *testing.T) {
	const maxDistance = 8 * balances.CheckpointEvents
	for _, c := range []struct {
		checkpoint balances.Checkpoint
		upToSeq    uint64
		isNear     bool
	}{
		{balances.Checkpoint{}, 0, true},
		{balances.Checkpoint{}, maxDistance, true},
		{balances.Checkpoint{}, maxDistance + 1, false},
		{balances.Checkpoint{Seq: 100, Accounts: 8_192}, 100 + maxDistance, true},
		{balances.Checkpoint{Seq: 100, Accounts: 8_192}, 101 + maxDistance, false},
		{balances.Checkpoint{Seq: 100, Accounts: 10_000}, 100 + 8*4*10_000, true},
		{balances.Checkpoint{Seq: 100, Accounts: 10_000}, 101 + 8*4*10_000, false},
		{balances.Checkpoint{Seq: 100}, 99, false}, // the checkpoint is after the moment
	} {
		if isNear := balances.IsNear(&c.checkpoint, c.upToSeq); isNear != c.isNear {
			t.Errorf("from event %d with %d accounts to %d: %v", c.checkpoint.Seq, c.checkpoint.Accounts, c.upToSeq, isNear)
		}
	}
}
