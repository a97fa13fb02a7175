package payment_test

import (
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Cards of the simulator. A payment with them is charged; a refund is refused, or takes five seconds.
const (
	refusesRefunds = "4000000000005126"
	delaysRefunds  = "4000000000007726"
)

func TestRefundWithoutAnAmountReturnsAllOfIt(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	r := f.mustRecord(f.Refund(amountCommand(id, 0)))
	if r.Status != payment.Refunded || failureText(r.Failure) != "" || refundMsg(r) != "refunded" || refundID(r) == (ledger.ID{}) || r.RefundedAmount != money.FromUint64(70) {
		t.Errorf("%+v", r)
	}
	f.wantEntries(id, "settle posted: Dr A:provider 70, Cr L:partner:1:available 70",
		"refund pending: Cr A:provider 70, Dr L:partner:1:available 70",
		"refund_done capture: Cr A:provider 70, Dr L:partner:1:available 70")
	f.wantBalance("100000 / 0")
	f.wantSubmissions(id, actors.Refund, 1)
	_, err := f.Refund(amountCommand(id, 0))
	f.wantRefusal(err, ledger.InvalidRefundAmount)
}

func TestPartialRefundsContinueUntilNothingIsLeft(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	var refundIDs []ledger.ID
	for i, step := range []struct {
		amount  uint64
		balance string
	}{{30, "100040 / 0"}, {30, "100010 / 0"}, {11, ""}, {10, "100000 / 0"}, {1, ""}} {
		r, err := f.Refund(amountCommand(id, step.amount))
		if step.balance == "" {
			f.wantRefusal(err, ledger.InvalidRefundAmount)
			continue
		}
		if f.mustRecord(r, err); r.Record.Status != payment.Refunded {
			t.Errorf("refund %d: %s", i, r.Record.Status)
		}
		f.wantBalance(step.balance)
		refundIDs = append(refundIDs, refundID(r.Record))
	}
	if refundIDs[0] == refundIDs[1] || refundIDs[1] == refundIDs[2] {
		t.Errorf("the refunds' identifiers are %v", refundIDs)
	}
	f.wantSubmissions(id, actors.Refund, 3)
	_, err := f.Refund(amountCommand(id, 0))
	f.wantRefusal(err, ledger.InvalidRefundAmount)
}

func TestRefundOfZeroIsRefused(t *testing.T) {
	f := open(t)
	zeroAmount := amountCommand(f.create(payment.Payment, "4242424242424242", 70, "").Record.ID, 0)
	zeroAmount.Amount = new(money.Amount)
	_, err := f.Refund(zeroAmount)
	f.wantRefusal(err, ledger.InvalidRefundAmount)
}

func TestRefundRefusedByTheRailLeavesThePaymentCharged(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, refusesRefunds, 70, "").Record.ID
	for range 2 { // the refund may be requested again
		r := f.mustRecord(f.Refund(amountCommand(id, 0)))
		if r.Status != payment.Charged || failureText(r.Failure) != "" || refundMsg(r) != "refund_refused" || refundID(r) == (ledger.ID{}) || !r.RefundedAmount.IsZero() {
			t.Errorf("%+v", r)
		}
		f.wantBalance("100070 / 0")
	}
	f.wantPath(id, "created new authorizing charging charged charged charged charged charged")
	if got := f.headroom(usd); got != "70" {
		t.Errorf("headroom %s", got)
	}
}

func TestSlowRefundIsRefundingAndThenRefunded(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, delaysRefunds, 70, "").Record.ID
	if r := f.mustRecord(f.Refund(amountCommand(id, 30))); r.Status != payment.Refunding || refundMsg(r) != "refund pending" {
		t.Errorf("%s %q", r.Status, refundMsg(r))
	}
	f.wantBalance("100070 / 30")
	_, err := f.Refund(amountCommand(id, 10))
	f.wantRefusal(err, ledger.Conflict)
	_, err = f.Cancel(partnerCommand(id))
	f.wantRefusal(err, ledger.NotReversible)
	f.advance(5*time.Second - time.Millisecond)
	f.wantStatus(id, payment.Refunding, "")
	f.restart()
	f.wantStatus(id, payment.Refunding, "")
	f.advance(time.Millisecond)
	if r := f.wantStatus(id, payment.Refunded, ""); refundMsg(r) != "refunded" {
		t.Errorf("%q", refundMsg(r))
	}
	f.wantBalance("100040 / 0")
	f.mustRecord(f.Refund(amountCommand(id, 0)))
	f.advance(5 * time.Second)
	f.wantStatus(id, payment.Refunded, "")
	f.wantPath(id, "created new authorizing charging charged charged refunding refunding refunded refunded refunding refunded")
	f.wantBalance("100000 / 0")
}

func TestRefundWhoseAnswerIsLostIsInquired(t *testing.T) {
	for _, c := range []struct {
		name           string
		inquiryAnswers []actors.Outcome
		status         payment.Status
		msg            string
		balance        string
		calls          int
	}{
		{"refunded", []actors.Outcome{done}, payment.Refunded, "refunded", "100000 / 0", 1},
		{"lost twice more, then refunded", []actors.Outcome{lostAnswer, lostAnswer, done}, payment.Refunded, "refunded", "100000 / 0", 1},
		{"pending, then refunded", []actors.Outcome{{Verdict: payment.VerdictPending}, done}, payment.Refunded, "refunded", "100000 / 0", 1},
		{"pending, then refused", []actors.Outcome{{Verdict: payment.VerdictPending}, {Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}}, payment.Charged, "no", "100070 / 0", 1},
		{"an inquiry that was not sent, then refunded", []actors.Outcome{{Verdict: payment.VerdictNotSent}, done}, payment.Refunded, "refunded", "100000 / 0", 1},
		{"not found once, then refunded", []actors.Outcome{notFound, done}, payment.Refunded, "refunded", "100000 / 0", 1},
		{"not found repeatedly, so sent again under the same id", []actors.Outcome{notFound}, payment.Refunded, "refunded", "100000 / 0", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			rail := scriptedProvider(actors.Refund, lostAnswer, done).answerInquiries(actors.Refund, c.inquiryAnswers...)
			f := openWith(t, func(f *fixture) { f.useProvider(rail) })
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			if r := f.mustRecord(f.Refund(amountCommand(id, 0))); r.Status != payment.Refunding || refundMsg(r) != "refund pending" || refundID(r) == (ledger.ID{}) {
				t.Errorf("%s while it is unknown", r.Status)
			}
			f.wantBalance("100070 / 70")
			_, err := f.Refund(amountCommand(id, 0))
			f.wantRefusal(err, ledger.Conflict)
			f.advance(5 * time.Minute)
			if got := refundMsg(f.wantStatus(id, c.status, "")); got != c.msg {
				t.Errorf("%q", got)
			}
			f.wantBalance(c.balance)
			f.wantSubmissions(id, actors.Refund, c.calls)
		})
	}
}

func TestRefusalOfASecondRefundLeavesThePaymentRefunded(t *testing.T) {
	refusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no more"}}
	for name, secondAnswer := range map[string]actors.Outcome{"at once": refusal, "later": {Verdict: payment.VerdictPending, InquireAfter: time.Second}} {
		t.Run(name, func(t *testing.T) {
			rail := scriptedProvider(actors.Refund, done, secondAnswer).answerInquiries(actors.Refund, refusal)
			f := openWith(t, func(f *fixture) { f.useProvider(rail) })
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			f.mustRecord(f.Refund(amountCommand(id, 50)))
			f.mustRecord(f.Refund(amountCommand(id, 0)))
			f.advance(time.Second)
			if r := f.wantStatus(id, payment.Refunded, ""); r.RefundedAmount != money.FromUint64(50) || refundMsg(r) != "no more" {
				t.Errorf("refunded %v, %q", r.RefundedAmount, refundMsg(r))
			}
			f.wantBalance("100020 / 0")
		})
	}
}

// After each refund, the fee returned so far is floor(fee × refunded so far ÷ amount). Here the floors of
// 7 × 33/100, 7 × 66/100 and 7 × 100/100 are 2, 4 and 7.
func TestRefundableFeeIsReturnedByCumulativeFloors(t *testing.T) {
	for _, c := range []struct {
		name      string
		configure func(terminalSettings)
		want      []string
		balance   string
	}{
		{"fee deducted from the amount", func(s terminalSettings) {}, []string{
			"settle posted: Dr A:provider 100, Cr L:partner:1:available 93, Cr I:fees 7",
			"refund_done capture: Cr A:provider 33, Dr L:partner:1:available 31, Dr I:fees 2",
			"refund_done capture: Cr A:provider 33, Dr L:partner:1:available 31, Dr I:fees 2",
			"refund_done capture: Cr A:provider 34, Dr L:partner:1:available 31, Dr I:fees 3",
		}, "100000 / 0"},
		{"fee on top of the amount", func(s terminalSettings) { s.FeeOnTop = true }, []string{
			"settle posted: Dr A:provider 107, Cr L:partner:1:available 100, Cr I:fees 7",
			"refund_done capture: Cr A:provider 35, Dr L:partner:1:available 33, Dr I:fees 2",
			"refund_done capture: Cr A:provider 35, Dr L:partner:1:available 33, Dr I:fees 2",
			"refund_done capture: Cr A:provider 37, Dr L:partner:1:available 34, Dr I:fees 3",
		}, "100000 / 0"},
		{"fee not refundable", func(s terminalSettings) { s.FeeRefundable = false }, []string{
			"settle posted: Dr A:provider 100, Cr L:partner:1:available 93, Cr I:fees 7",
			"refund_done capture: Cr A:provider 33, Dr L:partner:1:available 33",
			"refund_done capture: Cr A:provider 33, Dr L:partner:1:available 33",
			"refund_done capture: Cr A:provider 34, Dr L:partner:1:available 34",
		}, "99993 / 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openWith(t, func(f *fixture) {
				f.changeTerminal(0, func(s terminalSettings) { s.FeeFixed, s.FeeRefundable = money.FromUint64(7), true; c.configure(s) })
			})
			id := f.create(payment.Payment, "4242424242424242", 100, "").Record.ID
			want := c.want[:1:1]
			for i, amount := range []uint64{33, 33, 0} {
				f.mustRecord(f.Refund(amountCommand(id, amount)))
				want = append(want, "refund pending"+c.want[i+1][len("refund_done capture"):], c.want[i+1])
			}
			f.wantEntries(id, want...)
			f.wantBalance(c.balance)
		})
	}
}

// The part of a refund that the partner's balance does not cover becomes debt.
func TestRefundBeyondTheBalanceBecomesDebt(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.mustRecord(f.createWith(payment.Payout, "4242424242424242", 100_050, nil))
	f.wantBalance("20 / 0")
	f.mustRecord(f.Refund(amountCommand(id, 0)))
	f.wantEntries(id, "settle posted: Dr A:provider 70, Cr L:partner:1:available 70",
		"refund pending: Cr A:provider 70, Dr L:partner:1:available 70",
		"refund_done capture: Cr A:provider 70, Dr L:partner:1:available 20, Dr A:partner:1:receivable 50")
}

func TestRefundIsRefusedUnlessThePaymentIsSettled(t *testing.T) {
	f := open(t)
	for name, r := range map[string]*payment.Record{
		"a payout":                f.create(payment.Payout, "4242424242424242", 70, "").Record,
		"declined":                f.create(payment.Payment, "4000000000000002", 70, "").Record,
		"failed":                  f.create(payment.Payment, "4000000000000119", 70, "").Record,
		"charging":                f.create(payment.Payment, "4000000000000077", 70, "").Record,
		"waiting for the payer":   f.create(payment.Payment, redirect, 70, "").Record,
		"rejected before routing": f.mustRecord(f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Request.ReturnURL = "" })),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.Refund(amountCommand(r.ID, 0))
			f.wantRefusal(err, ledger.NotReversible)
			f.wantSubmissions(r.ID, actors.Refund, 0)
		})
	}
}

func TestForeignTransactionIsNotFoundForEveryOperation(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	for name, foreignCommand := range map[string]paymentactor.Command{
		"another partner's": {Org: org, Partner: 2, ID: id}, "another organization's": {Org: ledger.ID{9}, Partner: 1, ID: id},
		"an unknown id": {Org: org, Partner: 1, ID: ledger.ID{9}},
	} {
		_, err := f.Refund(paymentactor.AmountCommand{Command: foreignCommand})
		f.wantRefusal(err, ledger.NotFound)
		_, err = f.Cancel(foreignCommand)
		f.wantRefusal(err, ledger.NotFound)
		_, err = f.Commit(paymentactor.AmountCommand{Command: foreignCommand})
		f.wantRefusal(err, ledger.NotFound)
		material := paymentactor.PayerSubmission{Command: foreignCommand, Object: []byte(`{"otp":"1"}`)}
		_, err = f.Complete(material)
		f.wantRefusal(err, ledger.NotFound)
		_, err = f.Choose(paymentactor.Choice{Command: foreignCommand, Bank: "sim-bank-1"})
		f.wantRefusal(err, ledger.NotFound)
		card := request(payment.Payment, "4242424242424242", 1, "").Card
		number := card.Number
		_, err = f.Continue(paymentactor.Continue{Command: foreignCommand, Card: card})
		f.wantRefusal(err, ledger.NotFound)
		if !isWiped(number) || !isWiped(material.Object) {
			t.Errorf("%s: a secret is still there", name)
		}
	}
}
