package posting_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// The accounts of the tests of the writer's rules about claims, counters, funds and spilling postings.
const (
	available  ledger.Path = "L:partner:1:available"
	receivable ledger.Path = "A:partner:1:receivable"
)

// maySpill returns a posting on partner 1's available balance, a part of which may go to the account of the
// partner's debt instead.
func maySpill(side ledger.Side, n uint64) ledger.Posting {
	p := line(available, side, n)
	p.SplitWith = receivable
	return p
}

func (f *fixture) wantBalances(wantAvailable, wantOwed string) {
	f.t.Helper()
	if got := f.totals(available).Available().String(); got != wantAvailable {
		f.t.Errorf("available: %s, want %s", got, wantAvailable)
	}
	if got := f.totals(receivable).Balance(ledger.Debit).String(); got != wantOwed {
		f.t.Errorf("owed: %s, want %s", got, wantOwed)
	}
}

func TestFirstClaimWinsWithinOneChange(t *testing.T) {
	f := open(t)
	c := deposit()
	c.Claims = []ledger.Claim{
		{Org: org, Kind: ledger.ClaimLogin, Key: "anna", Owner: []byte("first")},
		{Org: org, Kind: ledger.ClaimTxID, Key: "anna", Owner: []byte("another kind")},
		{Org: org, Kind: ledger.ClaimLogin, Key: "anna", Owner: []byte("second")},
	}
	receipt := f.submit(c)
	wantCode(t, receipt.Err, ledger.ClaimTaken)
	if string(receipt.Owner) != "first" || receipt.Claim != 2 {
		t.Errorf("claim %d is taken by %q", receipt.Claim, receipt.Owner)
	}
	c.Claims = c.Claims[:2]
	f.must(c)
}

func TestReceiptNamesTheFirstTakenClaim(t *testing.T) {
	f := open(t)
	cachedReply := strings.Repeat("answer", posting.MaxClaim/6)
	txid := ledger.Claim{Org: org, Kind: ledger.ClaimTxID, Key: "1/order-1", Owner: []byte("transaction")}
	key := ledger.Claim{Org: org, Kind: ledger.ClaimIdempotency, Key: "1/key-1", Owner: []byte(cachedReply)}
	freeClaim := func(i int) ledger.Claim {
		return ledger.Claim{Org: org, Kind: ledger.ClaimSettlement, Key: strconv.Itoa(i), Owner: []byte("free")}
	}
	for _, claim := range []ledger.Claim{txid, key} {
		c := deposit()
		c.Claims = []ledger.Claim{claim}
		f.must(c)
	}
	for _, isDurable := range []bool{false, true} {
		if isDurable {
			f.restart()
		}
		for i, c := range []struct {
			claims []ledger.Claim
			claim  int
			owner  string
		}{
			{[]ledger.Claim{txid}, 0, "transaction"},
			{[]ledger.Claim{txid, key}, 0, "transaction"},
			{[]ledger.Claim{key, txid}, 0, cachedReply},
			{[]ledger.Claim{freeClaim(1), key}, 1, cachedReply},
			{[]ledger.Claim{freeClaim(1), txid, key}, 1, "transaction"},
			{[]ledger.Claim{freeClaim(1), freeClaim(2), key}, 2, cachedReply},
			{[]ledger.Claim{freeClaim(1), freeClaim(2), freeClaim(1)}, 2, "free"},
		} {
			change := deposit()
			change.Claims = c.claims
			receipt := f.submit(change)
			wantCode(t, receipt.Err, ledger.ClaimTaken)
			if receipt.Claim != c.claim || string(receipt.Owner) != c.owner {
				t.Errorf("case %d: claim %d of %.20q, want %d of %.20q", i, receipt.Claim, receipt.Owner, c.claim, c.owner)
			}
		}
	}
	c := deposit()
	c.Claims = []ledger.Claim{freeClaim(1), freeClaim(2)} // the refused changes have not taken these claims
	f.must(c)
}

func TestGuardsOfOneCounterInOneChangeAddUp(t *testing.T) {
	f := open(t)
	change := func(amounts ...money.Amount) *posting.Change {
		c := deposit()
		for _, a := range amounts {
			c.Counters = append(c.Counters, ledger.ReserveHeadroom(org, usd, a))
		}
		return c
	}
	nearlyMax, err := money.Max.Sub(amount(11))
	if err != nil {
		t.Fatal(err)
	}
	f.must(change(nearlyMax))
	wantCode(t, f.submit(change(amount(6), amount(6))).Err, ledger.OutOfRange)
	f.must(change(amount(6), amount(4)))
	// A release makes room for the guards that follow it in the change.
	c := change(amount(6))
	c.Counters = append([]ledger.CounterGuard{ledger.ReleaseHeadroom(org, usd, amount(6))}, c.Counters...)
	f.must(c)
	wantCode(t, f.submit(change(amount(1))).Err, ledger.OutOfRange)
}

func TestOutcomeIsCountedEvenByAFullCounter(t *testing.T) {
	f := open(t)
	for range 2 {
		c := deposit()
		c.MustRecord = true
		c.Counters = []ledger.CounterGuard{ledger.ReserveHeadroom(org, usd, money.Max)}
		f.must(c)
	}
	c := deposit()
	c.Counters = []ledger.CounterGuard{ledger.ReserveHeadroom(org, usd, amount(1))}
	wantCode(t, f.submit(c).Err, ledger.OutOfRange)
	for range 2 { // even after releases the counter stays full, because nobody knows its true amount
		c = deposit()
		c.Counters = []ledger.CounterGuard{ledger.ReleaseHeadroom(org, usd, money.Max)}
		f.must(c)
	}
}

func TestSpillingPostingsOfOneEntryAreSplitInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		available, owed         uint64 // balances before the entry
		side                    ledger.Side
		amounts                 []uint64
		wantAvailable, wantOwed string
	}{
		"two credits pay off a debt once":                         {0, 100, ledger.Credit, []uint64{60, 60}, "20", "0"},
		"two debits take what is available once":                  {100, 0, ledger.Debit, []uint64{60, 60}, "0", "20"},
		"three debits, of which the last finds nothing available": {5, 7, ledger.Debit, []uint64{3, 2, 4}, "0", "11"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			if c.available > 0 {
				f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, c.available), line(available, ledger.Credit, c.available)))
			}
			if c.owed > 0 {
				f.must(transfer(ledger.Posted, line(receivable, ledger.Debit, c.owed), line("A:bank", ledger.Credit, c.owed)))
			}
			sum, postings := uint64(0), []ledger.Posting(nil)
			for _, n := range c.amounts {
				sum += n
				postings = append(postings, maySpill(c.side, n))
			}
			f.must(transfer(ledger.Posted, append(postings, line("A:provider:x", c.side.Opposite(), sum))...))
			f.wantBalances(c.wantAvailable, c.wantOwed)
		})
	}
}

func TestCaptureSplitsAfterItsHoldIsReleased(t *testing.T) {
	f := open(t)
	f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 100), line(available, ledger.Credit, 100)))
	c := transfer(ledger.Pending, line(available, ledger.Debit, 100), line("A:provider:x", ledger.Credit, 100))
	heldPostings := c.Steps[0].Events[0].Entry.Postings
	f.must(c)
	source := c.Steps[0].Source
	capture := transfer(ledger.Capture, maySpill(ledger.Debit, 130), line("A:provider:x", ledger.Credit, 130))
	capture.Steps[0].Source, capture.Steps[0].Expect = source, 1
	capture.Steps[0].Events[0].Entry.Released = heldPostings
	f.must(capture)
	f.wantBalances("0", "30")
}

func TestFundsAreCheckedAfterSplitting(t *testing.T) {
	withFundsGuard := func(c *posting.Change) *posting.Change {
		c.Funds = []ledger.FundsGuard{{Org: org, Account: ledger.Account{Path: available, Asset: usd}}}
		return c
	}
	t.Run("a credit that pays off a debt makes nothing available", func(t *testing.T) {
		f := open(t)
		f.must(transfer(ledger.Posted, line(receivable, ledger.Debit, 100), line("A:bank", ledger.Credit, 100)))
		c := withFundsGuard(transfer(ledger.Posted, maySpill(ledger.Credit, 100), line("A:bank", ledger.Debit, 100)))
		c.Steps[0].Events = append(c.Steps[0].Events, ledger.Event{Name: "hold", Entry: &ledger.Entry{
			Phase: ledger.Pending, Postings: []ledger.Posting{line(available, ledger.Debit, 100), line("A:provider:x", ledger.Credit, 100)},
		}})
		wantCode(t, f.submit(c).Err, ledger.InsufficientFunds)
	})
	t.Run("a debit that spills leaves nothing lacking", func(t *testing.T) {
		f := open(t)
		f.must(withFundsGuard(transfer(ledger.Posted, maySpill(ledger.Debit, 100), line("A:bank", ledger.Credit, 100))))
		f.wantBalances("0", "100")
	})
	t.Run("a void in the same change makes its hold available", func(t *testing.T) {
		f := open(t)
		f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 100), line(available, ledger.Credit, 100)))
		c := transfer(ledger.Pending, line(available, ledger.Debit, 100), line("A:provider:x", ledger.Credit, 100))
		heldPostings := c.Steps[0].Events[0].Entry.Postings
		f.must(c)
		voidAndHold := withFundsGuard(transfer(ledger.Void, heldPostings...))
		voidAndHold.Steps[0].Source, voidAndHold.Steps[0].Expect = c.Steps[0].Source, 1
		voidAndHold.Steps[0].Events = append(voidAndHold.Steps[0].Events, ledger.Event{Name: "hold", Entry: &ledger.Entry{
			Phase: ledger.Pending, Postings: []ledger.Posting{line(available, ledger.Debit, 70), line("A:provider:x", ledger.Credit, 70)},
		}})
		f.must(voidAndHold)
		if got := f.totals(available).Available().String(); got != "30" {
			t.Errorf("available: %s, want 30", got)
		}
	})
}

func TestLargestAmountMovesWithoutOverflow(t *testing.T) {
	f := open(t)
	move := func(a money.Amount) *posting.Change {
		c := deposit()
		for i := range c.Steps[0].Events[0].Entry.Postings {
			c.Steps[0].Events[0].Entry.Postings[i].Amount = a
		}
		return c
	}
	f.must(move(ledger.MaxAmount))
	wantCode(t, f.submit(move(money.Max)).Err, ledger.OutOfRange)
	ninth, err := money.Max.DivFloor(money.FromUint64(9))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; n < 10; n++ {
		receipt := f.submit(move(ninth))
		if receipt.Err != nil {
			wantCode(t, receipt.Err, ledger.OutOfRange)
			break
		}
	}
	if n != 3 {
		t.Errorf("%d ninths of the range were moved, and with two a total begins above a quarter", n)
	}
}

func TestTotalsByEffectiveDateIncludeABackdatedCapture(t *testing.T) {
	f := open(t)
	heldPostings := []ledger.Posting{line(available, ledger.Debit, 100), line("A:provider:x", ledger.Credit, 100)}
	c := transfer(ledger.Pending, heldPostings...)
	f.must(c) // on day 0
	f.forward(5 * 24 * time.Hour)
	capture := transfer(ledger.Capture, line(available, ledger.Debit, 80), line("A:provider:x", ledger.Credit, 80))
	capture.Steps[0].Source, capture.Steps[0].Expect = c.Steps[0].Source, 1
	capture.Steps[0].Events[0].Entry.Released = heldPostings
	today := ledger.DateOf(start)
	capture.Steps[0].Events[0].Entry.Effective = today + 3
	f.must(capture) // on day 5, with effect from day 3
	pending, posted := ledger.Totals{DebitsPending: amount(100)}, ledger.Totals{DebitsPosted: amount(80)}
	for day, want := range map[ledger.Date]ledger.Totals{today: pending, today + 2: pending, today + 3: posted, today + 4: posted, today + 5: posted} {
		f.wantTotalsOn(day, want)
	}
}

func TestHoldEffectiveAfterItsEndHoldsNothingBefore(t *testing.T) {
	f := open(t)
	today := ledger.DateOf(start)
	heldPostings := []ledger.Posting{line(available, ledger.Debit, 100), line("A:provider:x", ledger.Credit, 100)}
	c := transfer(ledger.Pending, heldPostings...)
	c.Steps[0].Events[0].Entry.Effective = today - 2
	f.must(c)
	void := transfer(ledger.Void, heldPostings...)
	void.Steps[0].Source, void.Steps[0].Expect = c.Steps[0].Source, 1
	void.Steps[0].Events[0].Entry.Effective = today - 4
	f.must(void)
	for day := today - 5; day < today+2; day++ {
		f.wantTotalsOn(day, ledger.Totals{})
	}
}

func (f *fixture) wantTotalsOn(day ledger.Date, want ledger.Totals) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	got, _, err := balances.Account(v, org, ledger.Account{Path: available, Asset: usd}, &balances.Query{EffectiveDate: day})
	if err != nil || got != want {
		f.t.Errorf("%v: %+v (%v), want %+v", day, got, err, want)
	}
}

func (f *fixture) forward(d time.Duration) {
	f.t.Helper()
	if err := f.clock.Set(f.clock.Now().Add(d)); err != nil {
		f.t.Fatal(err)
	}
}

func TestCloseAfterAFailureDoesNotBlock(t *testing.T) {
	d := blockedDisk()
	d.failBefore.Store(true)
	f := openOn(t, d)
	acknowledged := make(chan posting.Receipt, 4*posting.MaxGroup)
	for range 4 * posting.MaxGroup {
		c := recordWithoutEntry(uuid.New())
		f.Submit(&c, func(receipt posting.Receipt) { acknowledged <- receipt })
	}
	d.unblock()
	<-f.fatal
	_ = f.Close() // the error is that of the simulated disk, which the test expects
	if len(acknowledged) != 0 {
		t.Errorf("%d acknowledged", len(acknowledged))
	}
}

func TestEveryChangeGetsOneReceiptWhenTheJournalCloses(t *testing.T) {
	f := open(t)
	const callers, perCaller = 8, 400
	receiptErrs := make(chan error, callers*perCaller*2)
	submitted, finished := make(chan struct{}, callers*perCaller), make(chan struct{})
	for range callers {
		go func() {
			for range perCaller {
				c := recordWithoutEntry(uuid.New())
				f.Submit(&c, func(receipt posting.Receipt) { receiptErrs <- receipt.Err })
				submitted <- struct{}{}
			}
			finished <- struct{}{}
		}()
	}
	for range perCaller {
		<-submitted
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for range callers {
		<-finished
	}
	stored := 0
	for range callers * perCaller {
		if err := <-receiptErrs; err == nil {
			stored++
		} else if err != posting.ErrStopped {
			t.Fatal(err)
		}
	}
	if len(receiptErrs) != 0 {
		t.Errorf("%d answers too many", len(receiptErrs))
	}
	f.reopen()
	v := f.View()
	defer v.Close()
	if size, _, err := v.Head(org); err != nil || size != uint64(stored) {
		t.Errorf("%d events of %d acknowledged (%v)", size, stored, err)
	}
}
