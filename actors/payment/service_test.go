package payment_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func TestSandboxCardsLeadToTheirDocumentedOutcomes(t *testing.T) {
	f := open(t)
	for _, row := range []struct {
		kind        payment.Type
		card        string
		status      payment.Status
		failure     string
		path        string
		wait        time.Duration
		laterStatus payment.Status
		balance     string
	}{
		{payment.Payment, "4242424242424242", "charged", "", "created new authorizing charging charged", 0, "charged", "100070 / 0"},
		{payment.Payment, "4000000000000002", "rejected", "card_declined", "created new authorizing rejected", 0, "rejected", "100070 / 0"},
		{payment.Payment, "4000000000009995", "rejected", "insufficient_funds", "created new authorizing rejected", 0, "rejected", "100070 / 0"},
		{payment.Payment, "4000000000000069", "rejected", "expired_card", "created new authorizing rejected", 0, "rejected", "100070 / 0"},
		{payment.Payment, "4000000000000119", "failed", "processing_error", "created new authorizing charging failed", 0, "failed", "100070 / 0"},
		{payment.Payment, "4000000000000077", "charging", "", "created new authorizing charging", 5 * time.Second, "charged", "100140 / 0"},
		{payment.Payment, "4000000000000341", "charging", "", "created new authorizing charging", 10 * time.Second, "charged", "100210 / 0"},
		{payment.Payment, "4000000000000259", "charged", "", "created new authorizing charging charged", 60 * time.Second, "reversed", "100210 / 0"},
		{payment.Payout, "4242424242424242", "charged", "", "created new authorizing charging charged", 0, "charged", "100140 / 0"},
		{payment.Payout, "4000000000000002", "rejected", "card_declined", "created new authorizing rejected", 0, "rejected", "100140 / 0"},
		{payment.Payout, "4000000000000119", "failed", "processing_error", "created new authorizing charging failed", 0, "failed", "100140 / 0"},
		{payment.Payout, "4000000000000341", "charging", "", "created new authorizing charging", 10 * time.Second, "charged", "100070 / 0"},
	} {
		name := fmt.Sprintf("%v with %s", row.kind, row.card)
		result := f.create(row.kind, row.card, 70, "")
		if result.Record.Status != row.status || failureText(result.Record.Failure) != row.failure {
			t.Errorf("%s: %s %q, want %s %q", name, result.Record.Status, failureText(result.Record.Failure), row.status, row.failure)
		}
		if got := f.statusPath(result.Record.ID); got != row.path {
			t.Errorf("%s: went through %s, want %s", name, got, row.path)
		}
		f.advance(row.wait)
		if got := f.readRecord(result.Record.ID).Status; got != row.laterStatus {
			t.Errorf("%s: %s after %v, want %s", name, got, row.wait, row.laterStatus)
		}
		if got := f.balance(); got != row.balance {
			t.Errorf("%s: balance %s, want %s", name, got, row.balance)
		}
		if n := f.callCount(result.Record.ID); n != 1 {
			t.Errorf("%s: %d provider calls", name, n)
		}
	}
}

func TestReturnIsATransactionThatMirrorsTheCharge(t *testing.T) {
	f := open(t)
	original := f.create(payment.Payment, "4000000000000259", 70, "r1").Record
	f.advance(time.Minute)
	original = f.readRecord(original.ID)
	returnRecord := f.readRecord(original.ReturnID)
	if returnRecord.Type != payment.Payout || returnRecord.Status != payment.Charged || returnRecord.Amount != original.Amount || returnRecord.ReversalOf != original.ID {
		t.Errorf("the return is %+v", returnRecord)
	}
	view := f.Journal.View()
	defer view.Close()
	charge, _, err := view.Record(org, ledger.Source{Kind: ledger.Transaction, ID: original.ID})
	if err != nil {
		t.Fatal(err)
	}
	err = view.SourceEvents(org, ledger.Source{Kind: ledger.Transaction, ID: returnRecord.ID}, func(e ledger.Event) (bool, error) {
		if e.Entry == nil || e.Entry.Reverses != charge.Header.SettledSeq {
			t.Errorf("the return's entry is %+v, the charge is event %d", e.Entry, charge.Header.SettledSeq)
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestConcurrentCreatesOfOneTxIDMakeOneCall(t *testing.T) {
	f := open(t)
	var wg sync.WaitGroup
	results := make([]paymentactor.Result, 64)
	for i := range results {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := request(payment.Payment, "4242424242424242", uint64(100+i), "same")
			c.Partner = f.partner
			var err error
			if results[i], err = f.Create(c); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	originals := 0
	for _, r := range results {
		if r.Record == nil || r.Record.ID != results[0].Record.ID || r.Record.Status != payment.Charged {
			t.Fatalf("an answer is %+v", r.Record)
		}
		if !r.Replay {
			originals++
		}
	}
	if n := f.callCount(results[0].Record.ID); n != 1 || originals != 1 {
		t.Errorf("%d provider calls, %d answers that are no replay", n, originals)
	}
}

func TestPayoutBeyondTheBalanceIsRejectedAndHoldsNothing(t *testing.T) {
	f := open(t)
	r := f.create(payment.Payout, "4242424242424242", 100_001, "p").Record
	if r.Status != payment.Rejected || failureText(r.Failure) != "insufficient balance" {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	if got := f.balance(); got != "100000 / 0" {
		t.Errorf("balance %s", got)
	}
	if n := f.callCount(r.ID); n != 0 {
		t.Errorf("%d provider calls", n)
	}
}

func TestConcurrentPayoutsNeverOverdraw(t *testing.T) {
	f := open(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	charged := 0
	for range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := request(payment.Payout, "4242424242424242", 7_000, "")
			c.Partner = f.partner
			result, err := f.Create(c)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if result.Record.Status == payment.Charged {
				charged++
			}
		}()
	}
	wg.Wait()
	if charged != 14 { // floor(100000 / 7000)
		t.Errorf("%d payouts were paid", charged)
	}
	if got := f.balance(); got != "2000 / 0" {
		t.Errorf("balance %s", got)
	}
}

func TestAmountsThatCouldOverflowATotalAreRejected(t *testing.T) {
	f := open(t)
	largest := "1" + strings.Repeat("0", 72)
	for amount, want := range map[string]string{largest: "", largest[:72] + "01": "amount out of range"} {
		c := request(payment.Payment, "4242424242424242", 1, "")
		c.Partner, c.Request.Amount = f.partner, money.MustParse(amount)
		result, err := f.Create(c)
		if err != nil {
			t.Fatal(err)
		}
		if failureText(result.Record.Failure) != want {
			t.Errorf("%s: %q, want %q", amount, failureText(result.Record.Failure), want)
		}
	}
	c := request(payment.Payout, "4242424242424242", 1, "")
	c.Partner, c.Request.Amount = f.partner, money.MustParse(largest)
	result, err := f.Create(c)
	if err != nil || result.Record.Status != payment.Charged {
		t.Errorf("a payout of the largest amount, out of what was paid in: %v, %v", result.Record, err)
	}
}
