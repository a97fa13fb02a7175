package payment_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// A reversal books its entry on a transaction of its own, the return. The return's entry is the charge's with opposite sides,
// less what was refunded. As in the charge, the partner's posting is split between balance and debt ("*").
func TestAReversalMirrorsTheChargeLessWhatWasRefunded(t *testing.T) {
	for _, c := range []struct {
		name, amount string
		fees         payment.Fees
		refunds      []string
		entry        string
		returnAmount string // the return's amount
		figures      string // the return's amounts, formatted by amountsText
	}{
		{"no fee", "50", feeDeducted(0, "0"), nil, "Cr A:provider 50, Dr L:partner:1:available 50*", "50", "50 50 50 0"},
		{"deducted", "50", feeDeducted(0, "20"), nil, "Cr A:provider 50, Dr L:partner:1:available 30*, Dr I:fees 20", "50", "50 30 30 20"},
		{"on top", "50", feeOnTop(0, "20"), nil, "Cr A:provider 70, Dr L:partner:1:available 50*, Dr I:fees 20", "50", "70 50 50 20"},
		{"the fee is the amount", "50", feeDeducted(0, "50"), nil, "Cr A:provider 50, Dr I:fees 50", "50", "50 0 0 50"},
		{"the fee is more", "50", feeDeducted(0, "70"), nil, "Cr A:provider 50, Cr L:partner:1:available 20*, Dr I:fees 70", "50", "50 0 -20 70"},
		{"refunded with its fee", "9999", refundable(feeDeducted(250, "3")), []string{"1000"}, "Cr A:provider 8999, Dr L:partner:1:available 8772*, Dr I:fees 227", "8999", "8999 8772 8772 227"},
		{"refunded twice", "9999", refundable(feeDeducted(250, "3")), []string{"1000", "1000"}, "Cr A:provider 7999, Dr L:partner:1:available 7797*, Dr I:fees 202", "7999", "7999 7797 7797 202"},
		{"refunded without its fee", "9999", feeDeducted(250, "3"), []string{"1000"}, "Cr A:provider 8999, Dr L:partner:1:available 8747*, Dr I:fees 252", "8999", "8999 8747 8747 252"},
		{"on top, refunded with its fee", "9999", refundable(feeOnTop(250, "3")), []string{"1000"}, "Cr A:provider 9226, Dr L:partner:1:available 8999*, Dr I:fees 227", "8999", "9226 8999 8999 227"},
		{"on top, refunded without", "9999", feeOnTop(250, "3"), []string{"1000"}, "Cr A:provider 9251, Dr L:partner:1:available 8999*, Dr I:fees 252", "8999", "9251 8999 8999 252"},
		{"refunded beyond what arrived", "100", feeDeducted(0, "10"), []string{"95"}, "Cr A:provider 5, Cr L:partner:1:available 5*, Dr I:fees 10", "5", "5 0 -5 10"},
		{"refunded just what arrived", "100", feeDeducted(0, "10"), []string{"90"}, "Cr A:provider 10, Dr I:fees 10", "10", "10 0 0 10"},
		{"the fee is more, refunded", "50", refundable(feeDeducted(0, "70")), []string{"20"}, "Cr A:provider 30, Cr L:partner:1:available 12*, Dr I:fees 42", "30", "30 0 -12 42"},
		{"the fee is more and stays, refunded", "50", feeDeducted(0, "70"), []string{"20"}, "Cr A:provider 30, Cr L:partner:1:available 40*, Dr I:fees 70", "30", "30 0 -40 70"},
	} {
		sc := newCharged(t, payment.Payment, c.amount, terms(c.fees))
		for _, r := range c.refunds {
			sc.refund(r)
			sc.onOpAnswer(answers["charged"])
		}
		before, oldRecord := *sc.record, sc.record
		d, ok := sc.context.DecideReversal(sc.record, 7, otherID, payment.Failure{})
		if !ok || !d.MustRecord || !d.Return.MustRecord {
			t.Fatalf("%s: not reversed", c.name)
		}
		sc.want(d, "reverse reversed", "final", "return: return charged: posted "+c.entry+" reverses 7", "return: final")
		r := d.Return.Record
		if amountsText(r) != c.figures || r.Amount.String() != c.returnAmount {
			t.Errorf("%s: the return has the amount %v and %s, want %s and %s", c.name, r.Amount, amountsText(r), c.returnAmount, c.figures)
		}
		wantUnchanged(t, before, oldRecord)
	}
}

// A return is a transaction of its own: a payout in status charged, with merchant_meta.reversal_of. The original
// becomes reversed and shows return_id.
func TestAReturnIsATransactionOfItsOwn(t *testing.T) {
	sc := newCharged(t, payment.Payment, "50", terms(feeDeducted(0, "0")))
	d, _ := sc.context.DecideReversal(sc.record, 7, otherID, payment.Failure{Detail: "the bank's own words"})
	if r := d.Record; r.Failure.Detail != "the bank's own words" || r.ReturnID != otherID || r.Status != payment.Reversed || r.Failure.Code != payment.TakenBack || r.SettledAmount().String() != "50" {
		t.Errorf("original %+v", r)
	}
	r := d.Return.Record
	if r.ID != otherID || r.Type != payment.Payout || r.Status != payment.Charged || r.ReversalOf != transactionID || r.Partner != 1 || r.Terminal != terminalID ||
		r.Route != "simulator" || r.Asset != usd || r.TxID != "" || r.Failure.Describe("en") != "" || !r.HasAnswer() {
		t.Errorf("return %+v", r)
	}
	if got, want := string(r.MerchantMeta), fmt.Sprintf(`{"reversal_of":"%v"}`, transactionID); got != want {
		t.Errorf("merchant_meta %s, want %s", got, want)
	}
}

func TestPartialCaptureIsReversedAtTheCapturedAmount(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(250, "3")))
	sc.commit("400")
	sc.onOpAnswer(answers["charged"])
	d, _ := sc.context.DecideReversal(sc.record, 7, otherID, payment.Failure{})
	sc.want(d, "reverse reversed", "final",
		"return: return charged: posted Cr A:provider 400, Dr L:partner:1:available 387*, Dr I:fees 13 reverses 7", "return: final")
	if got := d.Return.Record.Amount.String(); got != "400" {
		t.Errorf("the return has the amount %s", got)
	}
}

// A transaction that has not settled, or is already returned, is not reversed. While a refund is under way, a reversal
// has to wait for the answer to the refund.
func TestWhatCanNotBeReversed(t *testing.T) {
	newPayment := func() *scenario { return newCharged(t, payment.Payment, "100", terms(feeDeducted(0, "0"))) }
	reversed, refunding, pending, refunded := newPayment(), newPayment(), newPayment(), newPayment()
	decision, _ := reversed.context.DecideReversal(reversed.record, 7, otherID, payment.Failure{})
	refunding.refund("1")
	pending.refund("1")
	pending.onOpAnswer(answers["pending"])
	refunded.refund("")
	refunded.onOpAnswer(answers["charged"])
	for name, r := range map[string]*payment.Record{
		"reversed":                 decision.Record,
		"a return":                 decision.Return.Record,
		"refund requested":         refunding.record,
		"refunding":                pending.record,
		"refunded wholly":          refunded.record,
		"a payout":                 newCharged(t, payment.Payout, "100", terms(feeDeducted(0, "0"))).record,
		"held":                     inState(t, payment.Payment, payment.PaymentHeld).record,
		"charging":                 inState(t, payment.Payment, payment.Charging).record,
		"waits on the hosted page": newHosted(t).record,
	} {
		if _, ok := testContext.DecideReversal(r, 7, otherID, payment.Failure{}); ok {
			t.Errorf("%s was reversed", name)
		}
	}
}

// Some rails report first that a charge was refused, and later that it failed. The transaction then goes from rejected to
// failed.
func TestARailCorrectsARefusalIntoAFailure(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(answers["refused"])
	before, oldRecord := *sc.record, sc.record
	d, ok := sc.context.DecideCorrection(sc.record, payment.Failure{Code: payment.ProcessingError})
	if !ok || !d.MustRecord {
		t.Fatal("not corrected")
	}
	sc.want(d, "correct failed", "final")
	if d.Record.Failure.Code != payment.ProcessingError || d.Record.OriginalRejection != before.Failure.Code || before.Failure.Code == "" {
		t.Errorf("%q, rejected as %q", d.Record.Failure.Describe("en"), d.Record.OriginalRejection)
	}
	wantUnchanged(t, before, oldRecord)
	failed := inState(t, payment.Payment, payment.Charging)
	failed.onAnswer(answers["failed"])
	for name, r := range map[string]*payment.Record{
		"failed already": failed.record,
		"unrouted":       testContext.Reject(transactionID, 1, request(payment.Payment, "100"), payment.Failure{Code: payment.NoTerminal}).Record,
		"charged":        newCharged(t, payment.Payment, "100", terms(feeDeducted(0, "0"))).record,
		"charging":       inState(t, payment.Payment, payment.Charging).record,
	} {
		if _, ok := testContext.DecideCorrection(r, payment.Failure{Detail: "why"}); ok {
			t.Errorf("%s was corrected", name)
		}
	}
}

// If money moves after the transaction was closed, the provider's amount is booked to the suspense account, and headroom is
// reserved for it again. If the transaction is a payment, the money is then refunded.
func TestMoneyThatMovesAfterTheEndIsInSuspense(t *testing.T) {
	for _, c := range []struct {
		kind          payment.Type
		terminalTerms *payment.Terms
		entry         string
		effects       string
	}{
		{payment.Payment, terms(feeDeducted(250, "3")), "Dr A:provider 1000, Cr L:suspense:1 1000", "due 1ms, reserve 1028"},
		{payment.Payment, terms(feeOnTop(250, "3")), "Dr A:provider 1028, Cr L:suspense:1 1028", "due 1ms, reserve 1056"},
		{payment.Payment, convertingTerms(feeDeducted(0, "0"), usd, rub, "92.5"), "Dr A:provider 1000, Cr L:suspense:1 1000", "due 1ms, reserve 1000, reserve 92500 " + rub.String()},
		{payment.Payout, terms(feeDeducted(100, "0")), "Cr A:provider 990, Dr L:suspense:1 990", "reserve 1010"},
		{payment.Payout, convertingTerms(feeDeducted(100, "0"), usd, rub, "92.5"), "Cr A:provider 91575 RUB, Dr L:suspense:1 91575 RUB", "reserve 1010, reserve 91575 " + rub.String()},
	} {
		for answer, status := range map[string]string{"refused": "rejected", "failed": "failed"} {
			sc := newScenario(t, c.kind, "1000", c.terminalTerms)
			sc.onAnswer(answers["pending"])
			sc.onAnswer(answers[answer])
			d := sc.onAnswer(answers["charged"])
			sc.want(d, "settle_late "+status+": posted "+c.entry, c.effects)
			if r := sc.record; !r.LateSettlement || r.RRN != "123456789012" || string(r.Status) != status || r.Failure.Describe("en") != "why" {
				t.Errorf("%+v", r)
			}
			if _, again := sc.context.DecideProviderAnswer(sc.record, answers["charged"]); again {
				t.Error("a second late settlement was recorded")
			}
		}
	}
}

func TestLateSettlementIsRefunded(t *testing.T) {
	sc := newScenario(t, payment.Payment, "1000", terms(feeOnTop(250, "3")))
	sc.onAnswer(answers["pending"])
	sc.cancel()
	sc.onOpAnswer(answers["charged"])
	sc.onAnswer(answers["charged"])
	d, ok := sc.context.DecideSuspenseRefund(sc.record, sc.newRequestID())
	if !ok || !d.MustRecord {
		t.Fatal("the suspense refund was not decided")
	}
	sc.apply(d)
	sc.want(d, "give_back failed", "due 10s, ask op")
	if amount, asset := sc.record.OperationAmount(); amount.String() != "1028" || asset != usd || refundID(sc.record) != sc.record.Op.ID {
		t.Errorf("the provider is asked to return %v %v", amount, asset)
	}
	sc.want(sc.onOpAnswer(answers["pending"]), "await failed", "due 10s")
	sc.want(sc.onOpAnswer(answers["charged"]), "gave_back failed: posted Cr A:provider 1028, Dr L:suspense:1 1028")
	if r := sc.record; refundMessage(r) != "The money was returned." || r.Op != nil || r.Failure.Describe("en") != "The transaction was cancelled before it settled." || !r.RefundedAmount.IsZero() {
		t.Errorf("%+v", r)
	}
	if _, again := sc.context.DecideSuspenseRefund(sc.record, sc.newRequestID()); again {
		t.Error("a second suspense refund was decided")
	}
}

// If the process stops between the late settlement and its refund, the refund is decided after the next start.
func TestLateSettlementIsRefundedAfterARestart(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(answers["failed"])
	sc.onAnswer(answers["charged"])
	ask, d, decided := sc.onDue(time.Millisecond)
	if ask != payment.NoRequest || !decided || !d.MustRecord {
		t.Fatalf("ask %v, decided %v", ask, decided)
	}
	sc.want(d, "give_back failed", "due 10s, ask op")
	if ask, _, _ := sc.context.OnDue(sc.record, true, uuid.UUID{7}); ask != payment.InquireOperation {
		t.Errorf("after a restart OnDue asks %v", ask)
	}
}

func TestRefusedSuspenseRefundStaysInSuspense(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(answers["refused"])
	sc.onAnswer(answers["charged"])
	sc.onDue(time.Millisecond)
	sc.want(sc.onOpAnswer(answers["refused"]), "give_back_failed rejected")
	if refundMessage(sc.record) != "why" || sc.record.Op != nil {
		t.Errorf("%+v", sc.record)
	}
	if ask, _, decided := sc.onDue(time.Hour); ask != payment.NoRequest || decided {
		t.Error("a refunded transaction is due again")
	}
}

// A payout can't be refunded. Its money stays on the suspense account until operators handle it.
func TestLatePayoutIsNotRefunded(t *testing.T) {
	sc := inState(t, payment.Payout, payment.Charging)
	sc.onAnswer(answers["failed"])
	sc.onAnswer(answers["charged"])
	if _, ok := sc.context.DecideSuspenseRefund(sc.record, sc.newRequestID()); ok {
		t.Error("a suspense refund of a payout was decided")
	}
	if ask, _, decided := sc.onDue(time.Hour); ask != payment.NoRequest || decided {
		t.Error("a late payout is due")
	}
	failed := inState(t, payment.Payment, payment.Charging)
	failed.onAnswer(answers["failed"])
	if _, ok := failed.context.DecideSuspenseRefund(failed.record, ledger.ID{9}); ok {
		t.Error("a suspense refund of money that never moved was decided")
	}
}

// A correction after a late settlement keeps the instant at which the refund of the money is due.
func TestCorrectionKeepsTheDueInstant(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(answers["refused"])
	sc.onAnswer(answers["charged"])
	d, _ := sc.context.DecideCorrection(sc.record, payment.Failure{Detail: "why"})
	sc.want(sc.apply(d), "correct failed", "due 1ms, final")
	if _, d, _ := sc.onDue(time.Millisecond); d.Record.Op == nil {
		t.Error("the money is not refunded after the correction")
	}
}

// While money on the suspense account is being returned, a correction has to wait.
func TestCorrectionWaitsForASuspenseRefund(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(answers["refused"])
	sc.onAnswer(answers["charged"])
	sc.onDue(time.Millisecond)
	if _, ok := sc.context.DecideCorrection(sc.record, payment.Failure{Detail: "why"}); ok {
		t.Error("corrected meanwhile")
	}
	sc.onOpAnswer(answers["charged"])
	if _, ok := sc.context.DecideCorrection(sc.record, payment.Failure{Detail: "why"}); !ok {
		t.Error("not corrected afterwards")
	}
}
