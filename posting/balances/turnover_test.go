package balances_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// trialInPages reads a trial balance page by page, each with pageSize accounts.
func (f *fixture) trialInPages(query balances.Query, pageSize int) listing {
	f.t.Helper()
	return f.trialInPagesOf(org, query, pageSize)
}

// trialInPagesOf is trialInPages for any organization.
func (f *fixture) trialInPagesOf(orgID ledger.ID, query balances.Query, pageSize int) (lines listing) {
	f.t.Helper()
	for query.IsPaged = true; ; {
		view := f.Journal.View()
		pageAccounts := 0 // number of accounts on this page
		err := f.reader.TrialBalance(view, orgID, query, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			lines.add(a, t)
			query.After = &a
			pageAccounts++
			return pageAccounts < pageSize, nil
		})
		view.Close()
		if err != nil {
			f.t.Fatal(err)
		}
		if pageAccounts < pageSize {
			return lines
		}
	}
}

// fullChange returns a change with the maximum number of entries, all of one organization. Each entry moves the
// amount n from the bank to the next of the given number of partners.
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

// entriesOfNewPartners returns a full change in which each entry has a partner of its own. Changes with different
// n have no partner in common.
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

// A cached turnover (the sums of the events since a checkpoint) is not used for another organization, even if that
// has as many events.
func TestCachedTurnoverIsForOneOrganization(t *testing.T) {
	f := open(t)
	otherOrg := uuid.New()
	f.MustSubmit(fullChange(org, 1, 16))
	headers := f.MustSubmit(fullChange(otherOrg, 3, 16)).Headers
	query := balances.Query{Env: money.Prod, At: headers[len(headers)-1].UpdatedAt}
	for range 2 {
		for orgID, want := range map[ledger.ID]listing{org: trialOfSixteen(64), otherOrg: trialOfSixteen(3 * 64)} {
			if got := f.trialInPagesOf(orgID, query, 4); !slices.Equal(got, want) {
				t.Errorf("of %v it is %q, want %q", orgID, got, want)
			}
			if !f.reader.HasKeptTurnover() {
				t.Fatal("no turnover was cached")
			}
		}
	}
}

// A cached turnover (the sums of the events since a checkpoint) is not used for a later checkpoint.
func TestCachedTurnoverIsForOneCheckpoint(t *testing.T) {
	f := open(t)
	f.MustSubmit(fullChange(org, 1, 16))
	f.setClock(1, 12)
	headers := f.MustSubmit(fullChange(org, 1, 16)).Headers
	query := balances.Query{Env: money.Prod, At: headers[len(headers)-1].UpdatedAt}
	for range 2 {
		if got := f.trialInPages(query, 4); !slices.Equal(got, trialOfSixteen(128)) {
			t.Errorf("it is %q", got)
		}
		if !f.reader.HasKeptTurnover() {
			t.Fatal("no turnover was cached")
		}
		if checkpoints := f.makeCheckpoints(balances.Checkpoint{}); len(checkpoints) != 1 {
			t.Fatalf("the checkpoints are %+v", checkpoints)
		}
	}
}

// Results are right even if the cached turnover begins after a query's first account or ends before its last account.
// That happens if another query has cached the turnover, or if there were too many accounts.
func TestCachedTurnoverOfOtherAccountsChangesNoResult(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	f.MustSubmit(fullChange(org, 1, 50)) // enough events for their turnover to be cached
	const days = 10
	instants := history(f, random, days)[:3]
	for range 300 {
		query := balances.Query{Env: money.Prod, At: instants[random.IntN(len(instants))], IsPaged: random.IntN(2) == 0}
		if random.IntN(3) == 0 {
			query.EffectiveDate = ledger.DateOf(start) + ledger.Date(random.IntN(days))
		}
		query.Prefix = []string{"", "", "L:", "L:partner:1", "A:"}[random.IntN(5)]
		if random.IntN(2) == 0 {
			query.After = &ledger.Account{Path: ledger.PartnerAvailable(1 + random.Int64N(60)), Asset: usd}
		}
		view := f.Journal.View()
		var want, got listing
		err := errors.Join(balances.FromPages(view, org, query, want.add), f.reader.FromCheckpoint(view, org, query, 1+random.IntN(40), got.add))
		view.Close()
		if err != nil {
			t.Fatalf("%+v: %v", query, err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v:\nfrom the journal %q\nfrom the pages   %q", query, got, want)
		}
	}
	if !f.reader.HasKeptTurnover() {
		t.Error("no turnover was cached")
	}
}

// If there are too many accounts, a query that reads pages caches the turnover (the sums of the events since a
// checkpoint) of the first accounts for its next pages. A query that reads all accounts caches none, because its
// turnover has too many accounts.
func TestPagedQueryCachesTheTurnoverOfTheFirstAccounts(t *testing.T) {
	f := open(t)
	for n := range balances.MaxKept/posting.MaxSteps + 1 {
		f.MustSubmit(entriesOfNewPartners(n))
	}
	query := balances.Query{Env: money.Prod, At: 1 << 62}
	for _, paged := range []bool{false, true} {
		query.IsPaged = paged
		view, accounts := f.Journal.View(), 0
		err := f.reader.TrialBalance(view, org, query, func(ledger.Account, *ledger.Totals) (bool, error) {
			accounts++
			return accounts < 100, nil
		})
		view.Close()
		if err != nil || accounts != 100 {
			t.Fatalf("paged %v: %d accounts, %v", paged, accounts, err)
		}
		if f.reader.HasKeptTurnover() != paged {
			t.Errorf("paged %v: a turnover is cached: %v", paged, !paged)
		}
	}
}

// The accounts of a page of a trial balance are read from their stored rows, so no events are summed for them. If a page passes
// over very many accounts that are not selected, the rest of the page is read from a checkpoint.
func TestShortPageIsReadFromThePagesOfItsAccounts(t *testing.T) {
	f := open(t)
	for n := range balances.MaxOfPage/posting.MaxSteps + 1 {
		f.MustSubmit(entriesOfNewPartners(n))
	}
	f.reader.SetMaxOfPage(balances.MaxOfPage)
	query := balances.Query{Env: money.Prod, At: 1 << 62, IsPaged: true}
	for _, isRare := range []bool{false, true} {
		rows := 0
		if isRare {
			query.Filter = func(a ledger.Account) bool { return a.Path == "L:partner:999:available" } // the last account of all
		}
		view := f.Journal.View()
		err := f.reader.TrialBalance(view, org, query, func(ledger.Account, *ledger.Totals) (bool, error) {
			rows++
			return rows < 50, nil
		})
		view.Close()
		if want := map[bool]int{false: 50, true: 1}[isRare]; err != nil || rows != want {
			t.Fatalf("rare %v: %d rows, want %d, %v", isRare, rows, want, err)
		}
		if f.reader.HasKeptTurnover() != isRare {
			t.Errorf("rare %v: a turnover is cached: %v", isRare, !isRare)
		}
	}
}

// Fifteen accounts are read from their pages, the rows with their lines. Sixteen accounts are computed from the
// journal's events, and the sums of these events, the turnover, are cached.
func TestFewAccountsAreReadFromTheirPages(t *testing.T) {
	for partners, wantCached := range map[int]bool{balances.FewAccounts - 2: false, balances.FewAccounts - 1: true} {
		f := open(t)
		f.MustSubmit(fullChange(org, 1, partners))
		if got := f.trial(balances.Query{Env: money.Prod, At: 1 << 62}); len(got) != 1+partners {
			t.Errorf("it is %q", got)
		}
		if f.reader.HasKeptTurnover() != wantCached {
			t.Errorf("%d accounts: a turnover is cached: %v", 1+partners, !wantCached)
		}
	}
}

// A page is read from a checkpoint if the balance's last event is at most four distances after the checkpoint. A
// distance is the number of events after which the next checkpoint is made. A whole balance is also read from a
// checkpoint if at most 32 events for each account follow it, because reading all accounts' pages would take longer.
func TestDistantCheckpointIsNotUsed(t *testing.T) {
	const maxDistance = 4 * balances.CheckpointEvents
	checkpointWith := func(seq, chainAccounts uint64) balances.Checkpoint {
		c := balances.Checkpoint{ChainAccounts: chainAccounts}
		c.Seq = seq
		return c
	}
	for _, c := range []struct {
		checkpoint         balances.Checkpoint
		upToSeq            uint64
		isNear, isNearPage bool // isNear is for the whole balance, and isNearPage for a page of it
	}{
		{checkpointWith(0, 0), 0, true, true},
		{checkpointWith(0, 0), maxDistance, true, true},
		{checkpointWith(0, 0), maxDistance + 1, false, false},
		{checkpointWith(100, 4_096), 100 + maxDistance, true, true},
		{checkpointWith(100, 4_096), 101 + maxDistance, false, false},
		{checkpointWith(100, 10_000), 100 + 4*40_000, true, true},
		{checkpointWith(100, 10_000), 101 + 4*40_000, true, false},
		{checkpointWith(100, 10_000), 100 + 32*10_000, true, false},
		{checkpointWith(100, 10_000), 101 + 32*10_000, false, false},
		{checkpointWith(100, 5_000_000), 100 + 4*65_536, true, true},
		{checkpointWith(100, 5_000_000), 101 + 4*65_536, true, false},
		{checkpointWith(100, 0), 99, false, false}, // the checkpoint is after the last event
	} {
		isNear, isNearPage := balances.IsNear(&c.checkpoint, c.upToSeq, false), balances.IsNear(&c.checkpoint, c.upToSeq, true)
		if isNear != c.isNear || isNearPage != c.isNearPage {
			t.Errorf("from event %d with %d accounts to %d: %v, a page %v", c.checkpoint.Seq, c.checkpoint.ChainAccounts, c.upToSeq, isNear, isNearPage)
		}
	}
}
