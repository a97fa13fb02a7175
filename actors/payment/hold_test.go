package payment_test

import (
	"context"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// openTwoPhase returns a fixture whose terminals hold money until commit or cancel.
func openTwoPhase(t *testing.T, configure func(*fixture)) *fixture {
	return openWith(t, func(f *fixture) {
		f.changeTerminal(0, twoPhase)
		f.changeTerminal(1, twoPhase)
		configure(f)
	})
}

// unchanged is passed as configure to leave a fixture as it is.
func unchanged(*fixture) {}

func TestCommitChargesAHeldPayment(t *testing.T) {
	f := openTwoPhase(t, unchanged)
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	heldRecord := f.wantStatus(r.ID, payment.PaymentHeld, "")
	if got := heldRecord.HoldUntil.Time().Sub(start); got != directory.DefaultHoldTTL {
		t.Errorf("held for %v", got)
	}
	f.wantEntries(r.ID, "hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70")
	f.wantBalance("100000 / 0")
	chargedRecord := f.mustRecord(f.Commit(amountCommand(r.ID, 0)))
	if chargedRecord.Status != payment.Charged || chargedRecord.CapturedAmount != money.FromUint64(70) || chargedRecord.FinishedAt == 0 || len(chargedRecord.RRN) != 12 {
		t.Errorf("%+v", chargedRecord)
	}
	f.wantEntries(r.ID, "hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70",
		"capture capture: Dr A:provider 70, Cr L:partner:1:available 70")
	f.wantPath(r.ID, "created new authorizing charging payment_suspended payment_suspended charged")
	f.wantBalance("100070 / 0")
	f.wantSubmissions(r.ID, actors.Capture, 1)
}

func TestPartialCommitReleasesTheRestAndChargesTheFeeOfThePart(t *testing.T) {
	f := openTwoPhase(t, func(f *fixture) {
		f.changeTerminal(0, func(s terminalSettings) { s.FeeBps = 1_000 }) // the fee is a tenth of the amount
	})
	id := f.create(payment.Payment, "4242424242424242", 100, "").Record.ID
	r := f.mustRecord(f.Commit(amountCommand(id, 55)))
	if r.Status != payment.Charged || r.CapturedAmount != money.FromUint64(55) || r.Fee != money.FromUint64(5) || r.MerchantAmount.Abs != money.FromUint64(50) {
		t.Errorf("captured %v, fee %v, merchant %v", r.CapturedAmount, r.Fee, r.MerchantAmount)
	}
	if r.Amount != money.FromUint64(100) {
		t.Errorf("the amount asked for became %v", r.Amount)
	}
	f.wantEntries(id, "hold_payment pending: Dr A:provider 100, Cr L:partner:1:available 90, Cr I:fees 10",
		"capture capture: Dr A:provider 55, Cr L:partner:1:available 50, Cr I:fees 5")
	f.wantBalance("100050 / 0")
	if got := f.headroom(usd); got != "60" { // 55 and the fee of 5
		t.Errorf("headroom %s", got)
	}
	_, err := f.Refund(amountCommand(id, 56))
	f.wantRefusal(err, ledger.InvalidRefundAmount)
	f.mustRecord(f.Refund(amountCommand(id, 55)))
	f.wantStatus(id, payment.Refunded, "")
}

func TestCommitOfZeroOrMoreThanIsHeldIsRefused(t *testing.T) {
	f := openTwoPhase(t, unchanged)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	_, err := f.Commit(amountCommand(id, 71))
	f.wantRefusal(err, ledger.InvalidCaptureAmount)
	zeroAmount := amountCommand(id, 0)
	zeroAmount.Amount = new(money.Amount)
	_, err = f.Commit(zeroAmount)
	f.wantRefusal(err, ledger.InvalidCaptureAmount)
	f.wantStatus(id, payment.PaymentHeld, "")
	f.wantSubmissions(id, actors.Capture, 0)
}

func TestCommitIsRefusedWithoutAHold(t *testing.T) {
	f := open(t)
	for _, card := range []string{"4242424242424242", "4000000000000002", "4000000000000077"} {
		_, err := f.Commit(amountCommand(f.create(payment.Payment, card, 70, "").Record.ID, 0))
		f.wantRefusal(err, ledger.Conflict)
	}
}

func TestCancelReleasesAHold(t *testing.T) {
	f := openTwoPhase(t, unchanged)
	for kind, entries := range map[payment.Type][]string{
		payment.Payment: {"hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70", "void void: Dr A:provider 70, Cr L:partner:1:available 70"},
		payment.Payout: {"authorise pending: Dr L:partner:1:available 70, Cr A:provider:" + f.terminals[1].ID.String() + " 70",
			"void void: Dr L:partner:1:available 70, Cr A:provider:" + f.terminals[1].ID.String() + " 70"},
	} {
		id := f.create(kind, "4242424242424242", 70, "").Record.ID
		if r := f.mustRecord(f.Cancel(partnerCommand(id))); r.Status != payment.Failed || failureText(r.Failure) != "cancelled" || r.FinishedAt == 0 {
			t.Errorf("%v: %s %q", kind, r.Status, failureText(r.Failure))
		}
		f.wantEntries(id, entries...)
		f.wantBalance("100000 / 0")
		_, err := f.Commit(amountCommand(id, 0))
		f.wantRefusal(err, ledger.Conflict)
		_, err = f.Cancel(partnerCommand(id))
		f.wantRefusal(err, ledger.NotReversible)
		_, err = f.Refund(amountCommand(id, 0))
		f.wantRefusal(err, ledger.NotReversible)
		f.wantSubmissions(id, actors.Void, 1)
	}
	if got := f.headroom(usd); got != "0" {
		t.Errorf("headroom %s", got)
	}
}

func TestHoldExpiresByTheClock(t *testing.T) {
	f := openTwoPhase(t, func(f *fixture) {
		f.changeTerminal(1, func(s terminalSettings) { s.HoldTTL = time.Hour })
	})
	payIn := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	payOut := f.create(payment.Payout, "4242424242424242", 50, "").Record.ID
	f.wantBalance("100000 / 50")
	f.advance(time.Hour - time.Second)
	f.wantStatus(payOut, payment.PayoutHeld, "")
	f.advance(time.Second)
	f.wantStatus(payOut, payment.Failed, "hold expired")
	f.wantBalance("100000 / 0")
	f.advance(7*24*time.Hour - time.Hour - time.Second)
	f.wantStatus(payIn, payment.PaymentHeld, "")
	f.advance(time.Second)
	f.wantStatus(payIn, payment.Failed, "hold expired")
	for _, id := range []ledger.ID{payIn, payOut} {
		f.wantSubmissions(id, actors.Void, 1)
	}
}

func TestHoldExpiresEvenIfTheProcessWasDown(t *testing.T) {
	f := openTwoPhase(t, unchanged)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.stop()
	if err := f.Clock.Set(start.Add(8 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.Runtime.Quiesce()
	f.wantStatus(id, payment.Failed, "hold expired")
}

func TestPayoutHoldsMoneyUntilItsCommit(t *testing.T) {
	f := openTwoPhase(t, unchanged)
	id := f.create(payment.Payout, "4242424242424242", 70, "").Record.ID
	f.wantStatus(id, payment.PayoutHeld, "")
	f.wantBalance("100000 / 70")
	f.mustRecord(f.Commit(amountCommand(id, 30)))
	f.wantStatus(id, payment.Charged, "")
	f.wantBalance("99970 / 0")
}

func TestHeldPaymentCannotBeRefunded(t *testing.T) {
	f := openTwoPhase(t, unchanged)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	_, err := f.Refund(amountCommand(id, 0))
	f.wantRefusal(err, ledger.NotReversible)
}

func TestSlowAuthorizationBecomesAHold(t *testing.T) {
	f := openTwoPhase(t, unchanged)
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	f.wantStatus(id, payment.Charging, "")
	f.advance(5 * time.Second)
	f.wantStatus(id, payment.PaymentHeld, "")
	f.mustRecord(f.Commit(amountCommand(id, 0)))
	f.wantStatus(id, payment.Charged, "")
}

// scriptedProvider returns a provider that answers one operation with the outcomes in turn, and then always
// with the last. The simulator answers all other operations.
func scriptedProvider(operation actors.Operation, outcomes ...actors.Outcome) *fakeProvider {
	provider := new(fakeProvider)
	n := 0
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation != operation {
			return provider.Provider.Submit(ctx, call)
		}
		o := outcomes[min(n, len(outcomes)-1)]
		n++
		return o
	}
	return provider
}

// answerInquiries makes the provider answer inquiries about one operation with the outcomes in turn, and then
// always with the last. The simulator answers all other inquiries.
func (r *fakeProvider) answerInquiries(operation actors.Operation, outcomes ...actors.Outcome) *fakeProvider {
	n := 0
	r.inquire = func(ctx context.Context, q *actors.Inquiry) actors.Outcome {
		if q.Operation != operation {
			return r.Provider.Inquire(ctx, q)
		}
		o := outcomes[min(n, len(outcomes)-1)]
		n++
		return o
	}
	return r
}

// Outcomes of a fake provider.
var (
	lostAnswer = actors.Outcome{Verdict: payment.VerdictUnknown}
	notFound   = actors.Outcome{Verdict: payment.VerdictNotFound}
	done       = actors.Outcome{Verdict: payment.VerdictCharged}
)

func TestCommitRefusedByTheRailLeavesTheHold(t *testing.T) {
	provider := scriptedProvider(actors.Capture, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "too_late"}})
	f := openTwoPhase(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	if r := f.mustRecord(f.Commit(amountCommand(id, 0))); r.Status != payment.PaymentHeld || failureText(r.Failure) != "too_late" {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	f.advance(directory.DefaultHoldTTL)
	f.wantStatus(id, payment.Failed, "hold expired")
	f.wantBalance("100000 / 0")
}

func TestUnknownCommitIsOnlyInquiredAndTheInquiryDecides(t *testing.T) {
	for _, c := range []struct {
		name           string
		inquiryAnswers []actors.Outcome
		status         payment.Status
		reason         string
		balance        string
		calls          int
	}{
		{"done", []actors.Outcome{done}, payment.Charged, "", "100070 / 0", 1},
		{"pending, then done", []actors.Outcome{{Verdict: payment.VerdictPending, InquireAfter: time.Second}, done}, payment.Charged, "", "100070 / 0", 1},
		{"refused", []actors.Outcome{{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}}, payment.PaymentHeld, "no", "100000 / 0", 1},
		{"never arrived, and is sent again under the same id", []actors.Outcome{notFound}, payment.Charged, "", "100070 / 0", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			provider := scriptedProvider(actors.Capture, lostAnswer, done).answerInquiries(actors.Capture, c.inquiryAnswers...)
			f := openTwoPhase(t, func(f *fixture) { f.useProvider(provider) })
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			if r := f.mustRecord(f.Commit(amountCommand(id, 0))); r.Status != payment.PaymentHeld {
				t.Errorf("%s %q", r.Status, failureText(r.Failure))
			}
			_, err := f.Commit(amountCommand(id, 0))
			f.wantRefusal(err, ledger.Conflict)
			_, err = f.Cancel(partnerCommand(id))
			f.wantRefusal(err, ledger.Conflict)
			f.advance(time.Minute)
			f.wantStatus(id, c.status, c.reason)
			f.wantBalance(c.balance)
			f.wantSubmissions(id, actors.Capture, c.calls)
			if c.status == payment.PaymentHeld {
				f.advance(directory.DefaultHoldTTL)
				f.wantStatus(id, payment.Failed, "hold expired")
			}
		})
	}
}

func TestExpiringHoldThatTheRailHasCapturedIsCharged(t *testing.T) {
	provider := scriptedProvider(actors.Void, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "captured"}})
	provider.inquire = func(context.Context, *actors.Inquiry) actors.Outcome { return done }
	f := openTwoPhase(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.advance(directory.DefaultHoldTTL)
	if got := f.wantStatus(id, payment.Charged, "").CapturedAmount; got != money.FromUint64(70) {
		t.Errorf("captured %v", got)
	}
	f.wantBalance("100070 / 0")
}

// A hold whose commit has an unknown outcome does not expire before that outcome is known.
func TestHoldDoesNotExpireDuringACommit(t *testing.T) {
	provider := scriptedProvider(actors.Capture, lostAnswer).answerInquiries(actors.Capture, actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Hour}, done)
	f := openTwoPhase(t, func(f *fixture) {
		f.changeTerminal(0, func(s terminalSettings) { s.HoldTTL = time.Minute })
		f.useProvider(provider)
	})
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.mustRecord(f.Commit(amountCommand(id, 0)))
	f.advance(30 * time.Minute)
	f.wantStatus(id, payment.PaymentHeld, "")
	f.wantSubmissions(id, actors.Void, 0)
	f.advance(time.Hour)
	f.wantStatus(id, payment.Charged, "")
}

// A commit that seemed to be lost may have captured its amount at the rail.
func TestHoldCapturedByALostCommitIsChargedForItsAmount(t *testing.T) {
	provider := new(fakeProvider)
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		switch call.Operation {
		case actors.Capture:
			return lostAnswer
		case actors.Void:
			return actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "captured"}}
		}
		return provider.Provider.Submit(ctx, call)
	}
	provider.inquire = func(_ context.Context, q *actors.Inquiry) actors.Outcome {
		if q.Operation == actors.Capture {
			return notFound
		}
		return done
	}
	f := openTwoPhase(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.mustRecord(f.Commit(amountCommand(id, 30)))
	f.advance(time.Hour)
	f.wantStatus(id, payment.PaymentHeld, "interrupted")
	_, err := f.Cancel(partnerCommand(id))
	f.wantRefusal(err, ledger.NotReversible)
	if got := f.wantStatus(id, payment.Charged, "").CapturedAmount; got != money.FromUint64(30) {
		t.Errorf("captured %v", got)
	}
	f.wantBalance("100030 / 0")
}
