package payment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// entries returns a transaction's entries as one text, oldest first; the first terminal's id is left out.
func (f *fixture) entries(id ledger.ID) string {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	var descriptions []string
	err := v.SourceEvents(org, ledger.Source{Kind: ledger.Transaction, ID: id}, func(e ledger.Event) (bool, error) {
		if e.Entry == nil {
			return true, nil
		}
		if e.Entry.Effective != e.Booked.Date() {
			f.t.Errorf("%s: effective %v, booked %v", e.Name, e.Entry.Effective, e.Booked.Time())
		}
		var lines []string
		for _, p := range e.Entry.Postings {
			lines = append(lines, fmt.Sprintf("%s %s %v", map[ledger.Side]string{ledger.Debit: "Dr", ledger.Credit: "Cr"}[p.Side],
				strings.TrimSuffix(string(p.Account), ":"+f.terminals[0].ID.String()), p.Amount))
		}
		descriptions = append([]string{e.Name + " " + e.Entry.Phase.String() + ": " + strings.Join(lines, ", ")}, descriptions...)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Join(descriptions, "; ")
}

// setFee replaces the payment terminal's fee.
func (f *fixture) setFee(fixed uint64) {
	terminalCopy := *f.terminals[0]
	terminalCopy.Settings.FeeFixed = money.FromUint64(fixed)
	f.terminals = append([]*directory.Terminal{&terminalCopy}, f.terminals[1:]...)
}

// A debit beyond the partner's balance becomes debt. A credit first repays the debt, and the return of that
// credit restores the debt.
func TestCreditRepaysDebtFirstAndReturnRestoresIt(t *testing.T) {
	f := open(t)
	f.partner = &directory.Partner{Number: 2, Org: org, Active: true} // this partner has no balance
	pay := func(kind payment.Type, card string, amount uint64) ledger.ID {
		c := request(kind, card, amount, "")
		c.Partner = f.partner
		result, err := f.Create(c)
		if err != nil || result.Record.Status != payment.Charged {
			t.Fatalf("%v, %v", result.Record, err)
		}
		return result.Record.ID
	}
	returnOf := func(id ledger.ID) ledger.ID {
		result, err := f.Read(org, 2, id)
		if err != nil || result.Record.Status != payment.Reversed {
			t.Fatalf("%v, %v", result.Record, err)
		}
		return result.Record.ReturnID
	}
	checkEntries := func(id ledger.ID, entries string) {
		t.Helper()
		if got := f.entries(id); got != entries {
			t.Errorf("\n%s, want\n%s", got, entries)
		}
	}
	const normalCard, takenBackCard = "4242424242424242", "4000000000000259"

	f.setFee(100) // the fee exceeds the amount, and the partner has no balance
	owingID := pay(payment.Payment, takenBackCard, 70)
	checkEntries(owingID, "settle posted: Dr A:provider 70, Dr A:partner:2:receivable 30, Cr I:fees 100")
	f.setFee(0)
	checkEntries(pay(payment.Payment, normalCard, 10), "settle posted: Dr A:provider 10, Cr A:partner:2:receivable 10")
	checkEntries(pay(payment.Payment, normalCard, 50), "settle posted: Dr A:provider 50, Cr L:partner:2:available 30, Cr A:partner:2:receivable 20")
	f.setFee(100) // the fee exceeds the amount, and the partner's balance covers a part of the difference
	checkEntries(pay(payment.Payment, normalCard, 60), "settle posted: Dr A:provider 60, Dr L:partner:2:available 30, Dr A:partner:2:receivable 10, Cr I:fees 100")
	f.setFee(0)
	chargedBackID := pay(payment.Payment, takenBackCard, 40)
	checkEntries(chargedBackID, "settle posted: Dr A:provider 40, Cr L:partner:2:available 30, Cr A:partner:2:receivable 10")
	checkEntries(pay(payment.Payout, normalCard, 25), "authorise pending: Dr L:partner:2:available 25, Cr A:provider:"+f.terminals[1].ID.String()+" 25; "+
		"settle capture: Dr L:partner:2:available 25, Cr A:provider:"+f.terminals[1].ID.String()+" 25")

	f.advance(time.Minute) // both payments are charged back, in the order of their random ids
	firstReturn, secondReturn := returnOf(owingID), returnOf(chargedBackID)
	firstEntries, secondEntries := f.entries(firstReturn), f.entries(secondReturn)
	for _, isExpected := range []bool{
		firstEntries == "return posted: Cr A:provider 70, Cr L:partner:2:available 30, Dr I:fees 100" &&
			secondEntries == "return posted: Cr A:provider 40, Dr L:partner:2:available 35, Dr A:partner:2:receivable 5",
		firstEntries == "return posted: Cr A:provider 70, Cr A:partner:2:receivable 30, Dr I:fees 100" &&
			secondEntries == "return posted: Cr A:provider 40, Dr L:partner:2:available 5, Dr A:partner:2:receivable 35",
	} {
		if isExpected {
			return
		}
	}
	t.Errorf("the returns are\n%s\n%s", firstEntries, secondEntries)
}

// headroom returns the amount that is reserved in an asset so that later bookings cannot bring a total above the largest
// amount.
func (f *fixture) headroom(asset money.Asset) string {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	amount, err := v.Counter(org, ledger.ReserveHeadroom(org, asset, money.Amount{}).Key, "")
	if err != nil {
		f.t.Fatal(err)
	}
	return amount.String()
}

// Before a call, the amount that the call may add to the totals of accounts is reserved in the asset of the chosen
// terminal. The reservation (headroom) is released if no money has moved, and stays otherwise.
func TestHeadroomIsReleasedOnlyIfNoMoneyMoved(t *testing.T) {
	f := open(t)
	for i, terminal := range f.terminals {
		terminalCopy := *terminal
		terminalCopy.Settings.Networks = []money.Network{"tron"}
		f.terminals[i] = &terminalCopy
	}
	f.setFee(3)
	assetWithoutNetwork := money.Asset{Currency: "USDT", Env: money.Prod}
	assetWithNetwork := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	for _, step := range []struct {
		card     string
		amount   string
		change   func(*paymentactor.Create)
		status   payment.Status
		headroom string // reserved amount after the step
	}{
		{"4242424242424242", "100", nil, "charged", "103"},
		{"4000000000000002", "100", nil, "rejected", "103"},
		{"4000000000000119", "100", nil, "failed", "103"},
		{"4000000000000077", "100", nil, "charging", "206"},
		{"4242424242424242", "100", func(c *paymentactor.Create) { c.Request.FailURL = "" }, "rejected", "206"},
		{"4242424242424242", "100", func(c *paymentactor.Create) {
			c.Request.Type = payment.Payout
			c.Request.Amount = money.FromUint64(1_000)
		}, "rejected", "206"},
		{"4242424242424242", ledger.MaxAmount.String(), nil, "charged", "1" + strings.Repeat("0", 69) + "209"},
	} {
		c := request(payment.Payment, step.card, 1, "")
		c.Partner, c.Request.Asset, c.Request.Amount = f.partner, assetWithoutNetwork, money.MustParse(step.amount)
		if step.change != nil {
			step.change(&c)
		}
		result, err := f.Create(c)
		if err != nil || result.Record.Status != step.status {
			t.Fatalf("%v, %v, want %s", result.Record, err, step.status)
		}
		if got := f.headroom(assetWithNetwork); got != step.headroom {
			t.Errorf("%s with %s: %s is reserved, want %s", step.status, step.card, got, step.headroom)
		}
	}
	if got := f.headroom(assetWithoutNetwork); got != "0" {
		t.Errorf("%s is reserved in an asset without a network", got)
	}
}

// A fee that exceeds the largest amount never reaches the ledger.
func TestFeeBeyondTheRangeIsRejected(t *testing.T) {
	f := open(t)
	terminalCopy := *f.terminals[0]
	terminalCopy.Settings.FeeFixed = money.Max
	terminalCopy.Settings.FeeOnTop = true
	f.terminals = []*directory.Terminal{&terminalCopy}
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if r.Status != payment.Rejected || r.Failure.Code != payment.AmountOutOfRange {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	if n := f.callCount(r.ID); n != 0 {
		t.Errorf("%d provider calls", n)
	}
}
