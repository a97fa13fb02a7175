package payment_test

import (
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// newHeld creates a two-phase transaction whose money is held.
func newHeld(t testing.TB, kind payment.Type, amount string, terminalTerms *payment.Terms) *scenario {
	t.Helper()
	sc := newScenario(t, kind, amount, twoPhase(terminalTerms))
	sc.onAnswer(answers["held"])
	return sc
}

// While money is held, the charge's entry is pending, and the partner's whole posting is on the available account. Only the
// capture splits this posting between the partner's available account and the partner's debt.
func TestAHeldPaymentIsPendingAndSplitsAtCapture(t *testing.T) {
	sc := newScenario(t, payment.Payment, "1000", twoPhase(terms(feeDeducted(250, "3"))))
	sc.want(sc.onAnswer(answers["held"]),
		"process charging",
		"hold_payment payment_suspended: pending Dr A:provider 1000, Cr L:partner:1:available 972, Cr I:fees 28",
		"due 168h0m0s")
	if sc.record.HoldUntil != ledger.MicrosOf(now.Add(week)) || !sc.record.HasAnswer() {
		t.Errorf("held until %v", sc.record.HoldUntil.Time())
	}
	sc.want(sc.commit(""), "commit payment_suspended", "due 10s, ask op")
	if amount, asset := sc.record.OperationAmount(); amount.String() != "1000" || asset != usd || sc.record.HasAnswer() {
		t.Errorf("the provider is asked to capture %v %v", amount, asset)
	}
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr A:provider 1000, Cr L:partner:1:available 972*, Cr I:fees 28"+
			" for Dr A:provider 1000, Cr L:partner:1:available 972, Cr I:fees 28",
		"final")
	if sc.record.CapturedAmount.String() != "1000" || sc.record.HoldUntil != 0 || sc.record.Op != nil || amountsText(sc.record) != "1000 972 972 28" {
		t.Errorf("%+v", sc.record)
	}
}

// The fee is computed again for the captured part. The rest of the hold is released, and so is the headroom reserved for it:
// 1028 − 413 and 1056 − 426.
func TestFeeIsComputedForTheCapturedPart(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(250, "3")))
	sc.commit("400")
	if amount, _ := sc.record.OperationAmount(); amount.String() != "400" || amountsText(sc.record) != "1000 972 972 28" {
		t.Errorf("the provider is asked to capture %v, and the record has %s", amount, amountsText(sc.record))
	}
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr A:provider 400, Cr L:partner:1:available 387*, Cr I:fees 13"+
			" for Dr A:provider 1000, Cr L:partner:1:available 972, Cr I:fees 28",
		"release 615, final")
	if r := sc.record; r.CapturedAmount.String() != "400" || r.SettledAmount().String() != "400" || r.Amount.String() != "1000" || amountsText(r) != "400 387 387 13" {
		t.Errorf("%s of %v", amountsText(r), r.CapturedAmount)
	}

	sc = newHeld(t, payment.Payment, "1000", terms(feeOnTop(250, "3")))
	sc.commit("400")
	if amount, _ := sc.record.OperationAmount(); amount.String() != "413" {
		t.Errorf("the provider is asked to capture %v, although the payer pays the fee", amount)
	}
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr A:provider 413, Cr L:partner:1:available 400*, Cr I:fees 13"+
			" for Dr A:provider 1028, Cr L:partner:1:available 1000, Cr I:fees 28",
		"release 630, final")
}

func TestPartialCaptureBelowItsFeeLeavesThePartnerInDebt(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "28")))
	sc.commit("20")
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr A:provider 20, Dr L:partner:1:available 8*, Cr I:fees 28"+
			" for Dr A:provider 1000, Cr L:partner:1:available 972, Cr I:fees 28",
		"release 980, final")
	if amountsText(sc.record) != "20 0 -8 28" {
		t.Errorf("%s", amountsText(sc.record))
	}
}

func TestAHeldPayoutIsCapturedWholeOrInPart(t *testing.T) {
	sc := newScenario(t, payment.Payout, "1000", twoPhase(terms(feeDeducted(100, "0"))))
	sc.want(sc.onAnswer(answers["held"]), "process charging", "hold_payout payout_suspended", "due 168h0m0s")
	sc.commit("")
	if amount, asset := sc.record.OperationAmount(); amount.String() != "990" || asset != usd {
		t.Errorf("%v %v is to be paid out", amount, asset)
	}
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10"+
			" for Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10",
		"final")

	sc = newHeld(t, payment.Payout, "1000", terms(feeDeducted(100, "0")))
	sc.commit("500")
	if amount, _ := sc.record.OperationAmount(); amount.String() != "495" {
		t.Errorf("%v is to be paid out", amount)
	}
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr L:partner:1:available 500, Cr A:provider 495, Cr I:fees 5"+
			" for Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10",
		"release 505, final")
}

// A commit never captures more than is held.
func TestCommitIsBoundedByTheHold(t *testing.T) {
	held := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	for amount, code := range map[string]ledger.Code{"0": ledger.InvalidCaptureAmount, "1001": ledger.InvalidCaptureAmount} {
		_, err := held.context.RequestCapture(held.record, amountPointer(amount), held.newRequestID())
		wantRefused(t, err, code)
	}
	for _, amount := range []string{"1", "1000"} {
		if _, err := held.context.RequestCapture(held.record, amountPointer(amount), held.newRequestID()); err != nil {
			t.Errorf("%s: %v", amount, err)
		}
	}
	payout := newHeld(t, payment.Payout, "1000", terms(feeDeducted(0, "10")))
	_, err := payout.context.RequestCapture(payout.record, amountPointer("10"), payout.newRequestID())
	wantRefused(t, err, ledger.InvalidCaptureAmount) // nothing is left of this amount after the fee
	for name, sc := range map[string]*scenario{
		"charged":         newCharged(t, payment.Payment, "1000", terms(feeDeducted(0, "0"))),
		"charging":        inState(t, payment.Payment, payment.Charging),
		"action_required": inState(t, payment.Payment, payment.ActionRequired),
		"hosted":          newHosted(t),
	} {
		if _, err := sc.context.RequestCapture(sc.record, nil, sc.newRequestID()); err == nil {
			t.Errorf("%s was committed", name)
		} else {
			wantRefused(t, err, ledger.Conflict)
		}
	}
}

// Of a commit and a cancel exactly one succeeds, and the other is refused as a conflict.
func TestACommitAndACancelExcludeEachOther(t *testing.T) {
	committing := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	committing.commit("")
	cancelling := newHeld(t, payment.Payout, "1000", terms(feeDeducted(0, "0")))
	cancelling.cancel()
	for _, sc := range []*scenario{committing, cancelling} {
		for range 2 { // before and after the provider has timed out
			_, err := sc.context.RequestCapture(sc.record, nil, sc.newRequestID())
			wantRefused(t, err, ledger.Conflict)
			_, err = sc.context.Cancel(sc.record, sc.newRequestID())
			wantRefused(t, err, ledger.Conflict)
			_, err = sc.context.Refund(sc.record, nil, sc.newRequestID())
			wantRefused(t, err, ledger.NotReversible)
			sc.onOpAnswer(answers["nothing"])
		}
	}
}

// If a capture fails, the money stays held until the end of the hold.
func TestACommitThatTheProviderRefusesLeavesTheMoneyHeld(t *testing.T) {
	for name, why := range map[string]string{"refused": "why", "failed": "why", "not sent": "why"} {
		sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
		sc.commit("400")
		sc.want(sc.onOpAnswer(answers[name]), "commit_refused payment_suspended", "due 168h0m0s")
		if r := sc.record; r.Failure.Describe("en") != why || r.Op != nil || !r.CapturedAmount.IsZero() || amountsText(r) != "1000 1000 1000 0" {
			t.Errorf("%s: %+v", name, r)
		}
		sc.commit("")
		if sc.onOpAnswer(answers["charged"]); sc.record.Status != payment.Charged || sc.record.Failure.Describe("en") != "" {
			t.Errorf("after the second commit: %s %q", sc.record.Status, sc.record.Failure.Describe("en"))
		}
	}
}

func TestOperationIsInquiredUntilItsOutcomeIsKnown(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.commit("")
	for _, c := range []struct{ answer, due string }{
		{"nothing", "due 10s"}, {"pending", "due 20s"}, {"not known", "due 10s"}, {"pending", "due 40s"}, {"not known", "due 10s"},
		{"held", "due 1m20s"}, {"not sent", "due 2m40s"}, {"pending", "due 5m20s"},
	} {
		sc.want(sc.onOpAnswer(answers[c.answer]), "await payment_suspended", c.due)
		if !sc.record.HasAnswer() {
			t.Errorf("%s: the client gets no response", c.answer)
		}
	}
	sc.onOpAnswer(answers["not known"])
	sc.want(sc.onOpAnswer(answers["not known"]), "await payment_suspended", "due 10s, ask op")
	sc.want(sc.onOpAnswer(answers["not known"]), "await payment_suspended", "due 10s")
	sc.want(sc.onOpAnswer(answers["not known"]), "commit_refused payment_suspended", "due 168h0m0s")
	if sc.record.Failure.Describe("en") != "The transaction was interrupted before it reached the provider." {
		t.Errorf("after two answers that the commit is unknown: %q", sc.record.Failure.Describe("en"))
	}
}

// A cancel is an intent to void at the provider. When the provider has voided the charge, the hold is released.
func TestACancelReleasesTheHold(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(250, "3")))
	sc.want(sc.cancel(), "cancel payment_suspended", "due 10s, ask op")
	sc.want(sc.onOpAnswer(answers["charged"]),
		"void failed: void Dr A:provider 1000, Cr L:partner:1:available 972, Cr I:fees 28",
		"release 1028, final")
	if r := sc.record; r.Failure.Describe("en") != "The transaction was cancelled before it settled." || r.HoldUntil != 0 || r.Op != nil {
		t.Errorf("%+v", r)
	}
	sc = newHeld(t, payment.Payout, "1000", terms(feeDeducted(100, "0")))
	sc.cancel()
	sc.want(sc.onOpAnswer(answers["charged"]),
		"void failed: void Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10",
		"release 1010, final")
}

// A payment that is neither held nor settled can be cancelled too. There is no hold to release, and the payment becomes
// failed.
func TestCancelledUnsettledPaymentBecomesFailed(t *testing.T) {
	for _, status := range []payment.Status{payment.Charging, payment.ActionRequired, payment.AuthRequired} {
		sc := inState(t, payment.Payment, status)
		sc.want(sc.cancel(), "cancel "+string(status), "due 10s, ask op")
		if amount, _ := sc.record.OperationAmount(); !amount.IsZero() {
			t.Errorf("%s: the void has the amount %v", status, amount)
		}
		sc.want(sc.onOpAnswer(answers["charged"]), "void failed", "release 100, final")
		if sc.record.Failure.Describe("en") != "The transaction was cancelled before it settled." || sc.record.Action != nil {
			t.Errorf("%s: %q, action %v", status, sc.record.Failure.Describe("en"), sc.record.Action)
		}
	}
}

// A cancel is refused as not_reversible if the charge never reached a provider, or has settled.
func TestWhatCanNotBeCancelled(t *testing.T) {
	rejected := inState(t, payment.Payment, payment.Charging)
	rejected.onAnswer(answers["refused"])
	charged := newCharged(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
	reversal, _ := charged.context.DecideReversal(charged.record, 7, otherID, payment.Failure{})
	for name, r := range map[string]*payment.Record{
		"hosted":      newHosted(t).record,
		"authorizing": newScenario(t, payment.Payment, "100", terms(feeDeducted(0, "0"))).record,
		"charged":     charged.record,
		"reversed":    reversal.Record,
		"rejected":    rejected.record,
	} {
		_, err := testContext.Cancel(r, otherID)
		if err == nil {
			t.Errorf("%s was cancelled", name)
			continue
		}
		wantRefused(t, err, ledger.NotReversible)
	}
}

// If the provider refuses a void and then reports that the charge settled, the transaction is charged.
func TestAVoidThatComesTooLateLeadsToWhatTheProviderSays(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.cancel()
	sc.want(sc.onOpAnswer(answers["refused"]), "void_failed payment_suspended", "due 10s, ask inquire")
	sc.want(sc.onAnswer(answers["charged"]),
		"settle charged: capture Dr A:provider 1000, Cr L:partner:1:available 1000* for Dr A:provider 1000, Cr L:partner:1:available 1000",
		"final")
	if r := sc.record; r.CapturedAmount.String() != "1000" || r.Failure.Describe("en") != "" {
		t.Errorf("%v captured, %q", r.CapturedAmount, r.Failure.Describe("en"))
	}
	sc = inState(t, payment.Payout, payment.Charging)
	sc.cancel()
	sc.want(sc.onOpAnswer(answers["failed"]), "void_failed charging", "due 10s, ask inquire")
	sc.want(sc.onAnswer(answers["charged"]),
		"settle charged: capture Dr L:partner:1:available 100, Cr A:provider 100 for Dr L:partner:1:available 100, Cr A:provider 100", "final")
}

// The inquiry that follows a refused void may be lost. It is then repeated, without waiting for the end of the hold.
func TestChargeIsInquiredAfterARefusedVoidUntilItsStatusIsKnown(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.cancel()
	sc.onOpAnswer(answers["refused"])
	if ask, _, decided := sc.onDue(10 * time.Second); ask != payment.InquireCharge || decided {
		t.Fatalf("OnDue asks %v", ask)
	}
	sc.want(sc.onAnswer(answers["nothing"]), "await payment_suspended", "due 20s")
	if ask, _, _ := sc.onDue(20 * time.Second); ask != payment.InquireCharge {
		t.Fatalf("OnDue asks %v", ask)
	}
	sc.want(sc.onAnswer(answers["held"]), "await payment_suspended", "due 167h59m30s")
	if ask, _, decided := sc.context.OnDue(sc.record, true, otherID); ask != payment.NoRequest || decided {
		t.Errorf("while the money stays held, OnDue asks %v", ask)
	}
}

func TestAVoidThatNeverArrivesLeavesTheChargeAsItIs(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.cancel()
	for range 3 {
		sc.onOpAnswer(answers["not known"])
	}
	sc.want(sc.onOpAnswer(answers["not known"]), "void_failed charging", "due 10s, ask inquire")
	if sc.record.Op != nil || sc.record.Failure.Describe("en") != "" {
		t.Errorf("%+v", sc.record)
	}
	sc.cancel() // the void can be tried again
}

// A hold is voided at the provider when its time is over.
func TestExpiredHoldIsVoided(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	if _, _, decided := sc.onDue(week - time.Microsecond); decided {
		t.Fatal("the hold lapsed early")
	}
	ask, d, decided := sc.onDue(time.Microsecond)
	if ask != payment.NoRequest || !decided || !d.MustRecord {
		t.Fatalf("ask %v, decided %v", ask, decided)
	}
	sc.want(d, "lapse payment_suspended", "due 10s, ask op")
	sc.want(sc.onOpAnswer(answers["charged"]),
		"void failed: void Dr A:provider 1000, Cr L:partner:1:available 1000", "release 1000, final")
	if sc.record.Failure.Describe("en") != "hold expired" {
		t.Errorf("%q", sc.record.Failure.Describe("en"))
	}
}

// A void that the provider refused is repeated, with growing gaps.
func TestFailedVoidOfAnExpiredHoldIsRetried(t *testing.T) {
	sc := newHeld(t, payment.Payout, "1000", terms(feeDeducted(0, "0")))
	sc.onDue(week)
	sc.want(sc.onOpAnswer(answers["failed"]), "void_failed payout_suspended", "due 10s, ask inquire")
	sc.context.Now = sc.context.Now.Add(10 * time.Second)
	sc.want(sc.onAnswer(answers["held"]), "await payout_suspended", "due 20s")
	_, d, decided := sc.onDue(20 * time.Second)
	if !decided {
		t.Fatal("nothing is decided at the due instant")
	}
	sc.want(d, "lapse payout_suspended", "due 10s, ask op")
}

// If a commit is refused after the hold's time, the hold lapses at once.
func TestACommitRefusedAfterTheHoldsTimeLapses(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.context.Now = now.Add(week - time.Second)
	sc.commit("")
	sc.context.Now = now.Add(week + time.Second)
	sc.onOpAnswer(answers["refused"])
	if _, d, decided := sc.onDue(0); !decided || d.Events[0].Name != "lapse" {
		t.Error("the hold does not lapse")
	}
}

// If the rail of a one-phase terminal holds money, nobody can commit the hold. So the hold is voided at once.
func TestHoldOnAOnePhaseTerminalIsVoided(t *testing.T) {
	sc := newScenario(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.onAnswer(answers["held"])
	if _, d, decided := sc.onDue(0); !decided || d.Events[0].Name != "lapse" {
		t.Error("a hold that nobody can commit does not lapse")
	}
}

// A partial capture of a converted hold reduces the held amounts of both assets.
func TestAConvertedHoldIsCapturedInPart(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", convertingTerms(feeDeducted(250, "3"), usd, rub, "0.333"))
	sc.commit("400")
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr A:provider 400, Cr Q:fx_position 387, Dr Q:fx_position 128 RUB, Cr L:partner:1:available 128 RUB*, Cr I:fees 13"+
			" for Dr A:provider 1000, Cr Q:fx_position 972, Dr Q:fx_position 323 RUB, Cr L:partner:1:available 323 RUB, Cr I:fees 28",
		"release 615, release 195 "+rub.String()+", final")
	// If the fee takes the whole captured part, nothing is converted, and the partner's debt is in the source's asset.
	sc = newHeld(t, payment.Payment, "1000", convertingTerms(feeDeducted(0, "28"), usd, rub, "0.333"))
	sc.commit("20")
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr A:provider 20, Dr L:partner:1:available 8*, Cr I:fees 28"+
			" for Dr A:provider 1000, Cr Q:fx_position 972, Dr Q:fx_position 323 RUB, Cr L:partner:1:available 323 RUB, Cr I:fees 28",
		"release 980, release 323 "+rub.String()+", final")
	sc = newHeld(t, payment.Payout, "100000", convertingTerms(feeDeducted(100, "0"), rub, tron, "0.0108"))
	sc.commit("50000")
	if amount, asset := sc.record.OperationAmount(); amount.String() != "5346000" || asset != tron {
		t.Errorf("%v %v is to be paid out", amount, asset)
	}
	sc.want(sc.onOpAnswer(answers["charged"]),
		"capture charged: capture Dr L:partner:1:available 50000, Cr Q:fx_position 49500, Dr Q:fx_position 5346000 USDT, Cr A:provider 5346000 USDT, Cr I:fees 500"+
			" for Dr L:partner:1:available 100000, Cr Q:fx_position 99000, Dr Q:fx_position 10692000 USDT, Cr A:provider 10692000 USDT, Cr I:fees 1000",
		"release 50500, release 5346000 "+tron.String()+", final")
}
