package posting_test

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

var (
	org   = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01")
	usd   = money.Asset{Currency: "USD", Env: money.Prod}
	start = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)
)

// fixture is a journal under test, with a clock that the test moves. The fields from minFree to wrapLog are options; the
// method reopen opens the journal with them.
type fixture struct {
	t     *testing.T
	dir   string
	clock *clock.Manual
	*posting.Journal
	minFree        uint64
	memTable       int64
	cached         int
	bufferedGroups int
	wrapLog        func(posting.Log) posting.Log
	fatal          chan error // receives the error with which the journal would end the process
}

func newClock() *clock.Manual { return clock.NewManual(start) }

// smallMemTable is the smallest size of Badger's memtable with which the store accepts values as long as on a
// server. Allocating and clearing a memtable of a server's size would take longer than most tests.
const smallMemTable = 8 << 20

func open(t *testing.T) *fixture {
	f := &fixture{t: t, dir: t.TempDir(), clock: newClock(), fatal: make(chan error, 1), memTable: smallMemTable}
	f.reopen()
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func (f *fixture) reopen() {
	f.t.Helper()
	j, err := posting.Open(posting.Options{
		Store:          store.Options{Dir: f.dir, MinFree: f.minFree, MemTable: f.memTable, Log: slog.New(slog.DiscardHandler)},
		Clock:          f.clock,
		Log:            slog.New(slog.DiscardHandler),
		Cached:         f.cached,
		BufferedGroups: f.bufferedGroups,
		Fatal:          func(err error) { f.fatal <- err },
		WrapLog:        f.wrapLog,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Journal = j
}

func (f *fixture) restart() {
	f.t.Helper()
	if err := f.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.reopen()
}

// submit submits a change and waits for its receipt.
func (f *fixture) submit(c *posting.Change) posting.Receipt {
	f.t.Helper()
	done := make(chan posting.Receipt, 1)
	f.Submit(c, func(receipt posting.Receipt) { done <- receipt })
	select {
	case receipt := <-done:
		return receipt
	case err := <-f.fatal:
		f.t.Fatal(err)
	}
	return posting.Receipt{}
}

// must submits a change, and fails the test if the change is refused.
func (f *fixture) must(c *posting.Change) posting.Receipt {
	f.t.Helper()
	receipt := f.submit(c)
	if receipt.Err != nil {
		f.t.Fatal(receipt.Err)
	}
	return receipt
}

func amount(n uint64) money.Amount { return money.FromUint64(n) }

// line returns a posting in USD.
func line(path ledger.Path, side ledger.Side, n uint64) ledger.Posting {
	return ledger.Posting{Account: path, Asset: usd, Side: side, Amount: amount(n)}
}

// transfer returns a change that creates one record with one event. The event's entry has the given phase and postings.
func transfer(phase ledger.Phase, postings ...ledger.Posting) *posting.Change {
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1},
		Events: []ledger.Event{{Name: "move", To: "done", Entry: &ledger.Entry{Phase: phase, Postings: postings}}},
	}}}
}

func (f *fixture) totals(path ledger.Path) ledger.Totals {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	totals, err := v.Totals(org, ledger.Account{Path: path, Asset: usd})
	if err != nil {
		f.t.Fatal(err)
	}
	return totals
}

func TestRunningTotalsFollowTheEntriesAndSurviveARestart(t *testing.T) {
	f := open(t)
	f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 500), line("L:partner:1:available", ledger.Credit, 500)))
	f.restart()
	f.must(transfer(ledger.Posted, line("L:partner:1:available", ledger.Debit, 120), line("A:bank", ledger.Credit, 120)))
	if got, want := f.totals("L:partner:1:available"), (ledger.Totals{DebitsPosted: amount(120), CreditsPosted: amount(500)}); got != want {
		t.Errorf("partner: %+v, want %+v", got, want)
	}
	if got, want := f.totals("A:bank"), (ledger.Totals{DebitsPosted: amount(500), CreditsPosted: amount(120)}); got != want {
		t.Errorf("bank: %+v, want %+v", got, want)
	}
}

func TestPartialCaptureReleasesTheWholeHold(t *testing.T) {
	f := open(t)
	f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 1000), line("L:partner:1:available", ledger.Credit, 1000)))
	source := ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}
	heldPostings := []ledger.Posting{line("L:partner:1:available", ledger.Debit, 300), line("A:provider:x", ledger.Credit, 290), line("I:fees", ledger.Credit, 10)}
	holdReceipt := f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: source, Record: []byte{1},
		Events: []ledger.Event{{Name: "hold", To: "held", Entry: &ledger.Entry{Phase: ledger.Pending, Postings: heldPostings}}}}}})
	if holdReceipt.Headers[0].HeldSeq != holdReceipt.Headers[0].LastSeq {
		t.Fatalf("stamp %+v: the hold is not noted", holdReceipt.Headers[0])
	}
	if got, want := f.totals("L:partner:1:available").Available().String(), "700"; got != want {
		t.Errorf("available while held: %s, want %s", got, want)
	}
	f.restart()
	capturedPostings := []ledger.Posting{line("L:partner:1:available", ledger.Debit, 200), line("A:provider:x", ledger.Credit, 200)}
	captureReceipt := f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: source, Expect: 1, Record: []byte{1},
		Events: []ledger.Event{{Name: "capture", From: "held", To: "done", Entry: &ledger.Entry{Phase: ledger.Capture, Postings: capturedPostings, Released: heldPostings}}}}}})
	if s := captureReceipt.Headers[0]; s.HeldSeq != 0 || s.SettledSeq != s.LastSeq || s.Version != 2 {
		t.Errorf("stamp %+v after the capture", s)
	}
	for path, want := range map[ledger.Path]ledger.Totals{
		"L:partner:1:available": {DebitsPosted: amount(200), CreditsPosted: amount(1000)},
		"A:provider:x":          {CreditsPosted: amount(200)},
		"I:fees":                {},
	} {
		if got := f.totals(path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
	v := f.View()
	defer v.Close()
	e, _, _, err := v.Event(org, captureReceipt.Headers[0].LastSeq)
	if err != nil || e.Entry.Closes != holdReceipt.Headers[0].LastSeq {
		t.Errorf("the capture closes %d, want %d (%v)", e.Entry.Closes, holdReceipt.Headers[0].LastSeq, err)
	}
}

func TestCreditPaysDebtAndOverdraftBecomesDebt(t *testing.T) {
	f := open(t)
	spillingPosting := func(side ledger.Side, n uint64) ledger.Posting {
		p := line("L:partner:1:available", side, n)
		p.SplitWith = "A:partner:1:receivable"
		return p
	}
	steps := []struct {
		side            ledger.Side
		n               uint64
		available, owed string
	}{
		{ledger.Credit, 100, "100", "0"},
		{ledger.Debit, 130, "0", "30"},
		{ledger.Debit, 20, "0", "50"},
		{ledger.Credit, 40, "0", "10"},
		{ledger.Credit, 25, "15", "0"},
	}
	for i, s := range steps {
		f.must(transfer(ledger.Posted, spillingPosting(s.side, s.n), line("A:provider:x", s.side.Opposite(), s.n)))
		available, owed := f.totals("L:partner:1:available"), f.totals("A:partner:1:receivable")
		if got := available.Available().String(); got != s.available {
			t.Errorf("step %d: available %s, want %s", i, got, s.available)
		}
		if got := owed.Balance(ledger.Debit).String(); got != s.owed {
			t.Errorf("step %d: owed %s, want %s", i, got, s.owed)
		}
	}
}

func TestClaimHasOneOwnerAndALosingChangeWritesNothing(t *testing.T) {
	f := open(t)
	changeWithClaim := func(owner string) *posting.Change {
		c := transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line("L:partner:1:available", ledger.Credit, 1))
		c.Claims = []ledger.Claim{{Org: org, Kind: ledger.ClaimTxID, Key: "1/order-1", Owner: []byte(owner)}}
		return c
	}
	const racers = 64
	var callers sync.WaitGroup
	receipts := make(chan posting.Receipt, racers)
	for range racers {
		callers.Go(func() {
			f.Submit(changeWithClaim(uuid.NewString()), func(receipt posting.Receipt) { receipts <- receipt })
		})
	}
	callers.Wait()
	winners, owners := 0, map[string]bool{}
	for range racers {
		receipt := <-receipts
		if receipt.Err == nil {
			winners++
			continue
		}
		wantCode(t, receipt.Err, ledger.ClaimTaken)
		owners[string(receipt.Owner)] = true
	}
	if winners != 1 || len(owners) != 1 {
		t.Errorf("%d winners, %d owners named", winners, len(owners))
	}
	f.restart()
	wantCode(t, f.submit(changeWithClaim("late")).Err, ledger.ClaimTaken)
	if got := f.totals("A:bank").DebitsPosted; got != amount(1) {
		t.Errorf("the losers posted: %v", got)
	}
}

// wantCode checks that the error is a refusal with the code.
func wantCode(t *testing.T, err error, code ledger.Code) {
	t.Helper()
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Fatalf("error %v, want a refusal with code %s", err, code)
	}
}

// wantLimiter checks that the error is a refusal of a command because of this limiter.
func wantLimiter(t *testing.T, err error, limiter ledger.Limiter) {
	t.Helper()
	wantCode(t, err, ledger.Unavailable)
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) && refusal.Limiter != limiter {
		t.Fatalf("refused by %q, want %q", refusal.Limiter, limiter)
	}
}

func TestStepRequiresTheStoredVersion(t *testing.T) {
	f := open(t)
	source := ledger.Source{Kind: ledger.Partner, ID: uuid.New()}
	move := func(expect uint64) *posting.Change {
		return &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{Org: org, Source: source, Expect: expect, Record: []byte{9},
			Events: []ledger.Event{{Name: "a", To: "x"}, {Name: "b", From: "x", To: "y"}}}}}
	}
	f.must(move(0))
	wantCode(t, f.submit(move(0)).Err, ledger.StaleVersion)
	wantCode(t, f.submit(move(1)).Err, ledger.StaleVersion)
	f.restart()
	wantCode(t, f.submit(move(3)).Err, ledger.StaleVersion)
	if s := f.must(move(2)).Headers[0]; s.Version != 4 {
		t.Errorf("version %d after two events from 2", s.Version)
	}
}

func TestFundsGuardRefusesInsufficientFunds(t *testing.T) {
	f := open(t)
	f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 100), line("L:partner:1:available", ledger.Credit, 100)))
	guardedPayout := func(n, overdraft uint64) *posting.Change {
		c := transfer(ledger.Pending, line("L:partner:1:available", ledger.Debit, n), line("A:provider:x", ledger.Credit, n))
		c.Funds = []ledger.FundsGuard{{Org: org, Account: ledger.Account{Path: "L:partner:1:available", Asset: usd}, Overdraft: amount(overdraft)}}
		return c
	}
	wantCode(t, f.submit(guardedPayout(101, 0)).Err, ledger.InsufficientFunds)
	f.must(guardedPayout(60, 0))
	wantCode(t, f.submit(guardedPayout(41, 0)).Err, ledger.InsufficientFunds)
	f.must(guardedPayout(41, 1))
	wantCode(t, f.submit(guardedPayout(1, 1)).Err, ledger.InsufficientFunds)
}

func TestCounterIsPersistedBoundedAndDecremented(t *testing.T) {
	f := open(t)
	countingChange := func(add, max uint64, release bool) *posting.Change {
		c := transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line("L:partner:1:available", ledger.Credit, 1))
		c.Counters = []ledger.CounterGuard{{Org: org, Key: "daily", Window: "2026-09-03", Add: amount(add), Max: amount(max), IsRelease: release, RefusalCode: ledger.LimitExceeded}}
		return c
	}
	f.must(countingChange(70, 100, false))
	wantCode(t, f.submit(countingChange(31, 100, false)).Err, ledger.LimitExceeded)
	f.restart()
	f.must(countingChange(30, 100, false))
	wantCode(t, f.submit(countingChange(1, 100, false)).Err, ledger.LimitExceeded)
	f.must(countingChange(50, 0, true))
	f.must(countingChange(50, 100, false))
	v := f.View()
	defer v.Close()
	if got, err := v.Counter(org, "daily", "2026-09-03"); err != nil || got != amount(100) {
		t.Errorf("counter %v (%v), want 100", got, err)
	}
}

func TestSequencesHaveNoGapsTimesIncreaseAndTheTreeFollowsRFC6962(t *testing.T) {
	f := open(t)
	const n = 700
	receipts := make(chan posting.Receipt, n)
	for range n {
		f.Submit(transfer(ledger.Posted, line("A:bank", ledger.Debit, 3), line("L:partner:1:available", ledger.Credit, 3)),
			func(receipt posting.Receipt) { receipts <- receipt })
	}
	for range n {
		if receipt := <-receipts; receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	f.restart()
	for range 3 {
		f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 3), line("L:partner:1:available", ledger.Credit, 3)))
	}
	v := f.View()
	defer v.Close()
	var hashes []tlog.Hash
	nextSeq, lastBooked := uint64(1), ledger.Micros(0)
	err := v.EventsAscending(org, 1, func(e ledger.Event, canonical []byte) (bool, error) {
		if e.Seq != nextSeq || e.Booked <= lastBooked {
			t.Fatalf("event %d at %d after %d at %d", e.Seq, e.Booked, nextSeq-1, lastBooked)
		}
		nextSeq, lastBooked = nextSeq+1, e.Booked
		newHashes, err := tlog.StoredHashes(int64(e.Seq-1), canonical, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
			found := make([]tlog.Hash, len(indexes))
			for i, k := range indexes {
				found[i] = hashes[k]
			}
			return found, nil
		}))
		hashes = append(hashes, newHashes...)
		return true, err
	})
	if err != nil || nextSeq != n+4 {
		t.Fatalf("read up to event %d: %v", nextSeq, err)
	}
	want, err := tlog.TreeHash(n+3, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		for i, k := range indexes {
			found[i] = hashes[k]
		}
		return found, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	size, root, err := v.Head(org)
	if err != nil || size != n+3 || tlog.Hash(root) != want {
		t.Errorf("head %d %x (%v), want %d %x", size, root, err, n+3, want)
	}
}
