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

// twoPhased is a fixture whose terminals hold money until commit or cancel.
func twoPhased(t *testing.T, set func(*fixture)) *fixture {
	return openAs(t, func(f *fixture) {
		f.set(0, twoPhase)
		f.set(1, twoPhase)
		set(f)
	})
}

func plain(*fixture) {}

func TestAHeldPaymentIsChargedByItsCommit(t *testing.T) {
	f := twoPhased(t, plain)
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	held := f.is(r.ID, payment.PaymentHeld, "")
	if got := held.HoldUntil.Time().Sub(start); got != directory.DefaultHoldTTL {
		t.Errorf("held for %v", got)
	}
	f.booked(r.ID, "hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70")
	f.has("100000 / 0")
	charged := f.must(f.Commit(part(r.ID, 0)))
	if charged.Status != payment.Charged || charged.Captured != money.FromUint64(70) || charged.Finished == 0 || len(charged.RRN) != 12 {
		t.Errorf("%+v", charged)
	}
	f.booked(r.ID, "hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70",
		"capture capture: Dr A:provider 70, Cr L:partner:1:available 70")
	f.went(r.ID, "created new authorizing charging payment_suspended payment_suspended charged")
	f.has("100070 / 0")
	f.submitted(r.ID, actors.Capture, 1)
}

func TestACommitOfAPartReleasesTheRestAndTakesTheFeeOfThePart(t *testing.T) {
	f := twoPhased(t, func(f *fixture) {
		f.set(0, func(s terminalSettings) { s.FeeBps = 1_000 }) // a tenth
	})
	id := f.create(payment.Payment, "4242424242424242", 100, "").Record.ID
	r := f.must(f.Commit(part(id, 55)))
	if r.Status != payment.Charged || r.Captured != money.FromUint64(55) || r.Fee != money.FromUint64(5) || r.Merchant.Abs != money.FromUint64(50) {
		t.Errorf("captured %v, fee %v, merchant %v", r.Captured, r.Fee, r.Merchant)
	}
	if r.Amount != money.FromUint64(100) {
		t.Errorf("the amount asked for became %v", r.Amount)
	}
	f.booked(id, "hold_payment pending: Dr A:provider 100, Cr L:partner:1:available 90, Cr I:fees 10",
		"capture capture: Dr A:provider 55, Cr L:partner:1:available 50, Cr I:fees 5")
	f.has("100050 / 0")
	if got := f.headroom(usd); got != "60" { // 55 and the fee
		t.Errorf("headroom %s", got)
	}
	_, err := f.Refund(part(id, 56))
	f.refused(err, ledger.InvalidRefundAmount)
	f.must(f.Refund(part(id, 55)))
	f.is(id, payment.Refunded, "")
}

func TestACommitOfMoreThanIsHeldOrOfNothingIsRefusedAndChangesNothing(t *testing.T) {
	f := twoPhased(t, plain)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	_, err := f.Commit(part(id, 71))
	f.refused(err, ledger.InvalidCaptureAmount)
	nothing := part(id, 0)
	nothing.Amount = new(money.Amount)
	_, err = f.Commit(nothing)
	f.refused(err, ledger.InvalidCaptureAmount)
	f.is(id, payment.PaymentHeld, "")
	f.submitted(id, actors.Capture, 0)
}

func TestOnlyWhatIsHeldIsCommitted(t *testing.T) {
	f := open(t)
	for _, card := range []string{"4242424242424242", "4000000000000002", "4000000000000077"} {
		_, err := f.Commit(part(f.create(payment.Payment, card, 70, "").Record.ID, 0))
		f.refused(err, ledger.Conflict)
	}
}

func TestACancelledHoldIsReleasedAndFailed(t *testing.T) {
	f := twoPhased(t, plain)
	for kind, entries := range map[payment.Type][]string{
		payment.Payment: {"hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70", "void void: Dr A:provider 70, Cr L:partner:1:available 70"},
		payment.Payout: {"authorise pending: Dr L:partner:1:available 70, Cr A:provider:" + f.terminals[1].ID.String() + " 70",
			"void void: Dr L:partner:1:available 70, Cr A:provider:" + f.terminals[1].ID.String() + " 70"},
	} {
		id := f.create(kind, "4242424242424242", 70, "").Record.ID
		if r := f.must(f.Cancel(of(id))); r.Status != payment.Failed || why(r.Failure) != "cancelled" || r.Finished == 0 {
			t.Errorf("%v: %s %q", kind, r.Status, why(r.Failure))
		}
		f.booked(id, entries...)
		f.has("100000 / 0")
		_, err := f.Commit(part(id, 0))
		f.refused(err, ledger.Conflict)
		_, err = f.Cancel(of(id))
		f.refused(err, ledger.NotReversible)
		_, err = f.Refund(part(id, 0))
		f.refused(err, ledger.NotReversible)
		f.submitted(id, actors.Void, 1)
	}
	if got := f.headroom(usd); got != "0" {
		t.Errorf("headroom %s", got)
	}
}

func TestAHoldExpiresByTheClock(t *testing.T) {
	f := twoPhased(t, func(f *fixture) {
		f.set(1, func(s terminalSettings) { s.HoldTTL = time.Hour })
	})
	payIn := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	payOut := f.create(payment.Payout, "4242424242424242", 50, "").Record.ID
	f.has("100000 / 50")
	f.advance(time.Hour - time.Second)
	f.is(payOut, payment.PayoutHeld, "")
	f.advance(time.Second)
	f.is(payOut, payment.Failed, "hold expired")
	f.has("100000 / 0")
	f.advance(7*24*time.Hour - time.Hour - time.Second)
	f.is(payIn, payment.PaymentHeld, "")
	f.advance(time.Second)
	f.is(payIn, payment.Failed, "hold expired")
	for _, id := range []ledger.ID{payIn, payOut} {
		f.submitted(id, actors.Void, 1)
	}
}

func TestAHoldExpiresAlsoIfTheProcessWasDownMeanwhile(t *testing.T) {
	f := twoPhased(t, plain)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.stop()
	if err := f.Clock.Set(start.Add(8 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.Runtime.Quiesce()
	f.is(id, payment.Failed, "hold expired")
}

func TestAHeldPayoutHoldsItsMoneyUntilItIsCommitted(t *testing.T) {
	f := twoPhased(t, plain)
	id := f.create(payment.Payout, "4242424242424242", 70, "").Record.ID
	f.is(id, payment.PayoutHeld, "")
	f.has("100000 / 70")
	f.must(f.Commit(part(id, 30)))
	f.is(id, payment.Charged, "")
	f.has("99970 / 0")
}

func TestWhatIsHeldCannotBeRefundedOnlyCancelled(t *testing.T) {
	f := twoPhased(t, plain)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	_, err := f.Refund(part(id, 0))
	f.refused(err, ledger.NotReversible)
}

func TestACardThatTakesItsTimeIsHeldWhenItIsDone(t *testing.T) {
	f := twoPhased(t, plain)
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	f.is(id, payment.Charging, "")
	f.advance(5 * time.Second)
	f.is(id, payment.PaymentHeld, "")
	f.must(f.Commit(part(id, 0)))
	f.is(id, payment.Charged, "")
}

// scripted is a rail on which one operation has the outcomes that a test sets.
func scripted(operation actors.Operation, outcomes ...actors.Outcome) *fakeProvider {
	r := new(fakeProvider)
	n := 0
	r.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation != operation {
			return r.Provider.Submit(ctx, call)
		}
		o := outcomes[min(n, len(outcomes)-1)]
		n++
		return o
	}
	return r
}

// says sets the answers to inquiries about an operation; the simulator answers the other inquiries.
func (r *fakeProvider) says(operation actors.Operation, outcomes ...actors.Outcome) *fakeProvider {
	n := 0
	r.inquire = func(ctx context.Context, q *actors.Question) actors.Outcome {
		if q.Operation != operation {
			return r.Provider.Inquire(ctx, q)
		}
		o := outcomes[min(n, len(outcomes)-1)]
		n++
		return o
	}
	return r
}

var (
	lostAnswer = actors.Outcome{Verdict: payment.VerdictUnknown}
	notKnown   = actors.Outcome{Verdict: payment.VerdictNotFound}
	done       = actors.Outcome{Verdict: payment.VerdictCharged}
)

func TestACommitThatTheRailRefusesLeavesTheHoldAsItWas(t *testing.T) {
	r := scripted(actors.Capture, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "too_late"}})
	f := twoPhased(t, func(f *fixture) { f.on(r) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	if r := f.must(f.Commit(part(id, 0))); r.Status != payment.PaymentHeld || why(r.Failure) != "too_late" {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	f.advance(directory.DefaultHoldTTL)
	f.is(id, payment.Failed, "hold expired")
	f.has("100000 / 0")
}

func TestWhileACommitIsUnknownNothingElseIsTriedAndItsInquiryDecides(t *testing.T) {
	for _, c := range []struct {
		name   string
		says   []actors.Outcome
		status payment.Status
		reason string
		has    string
		calls  int
	}{
		{"done", []actors.Outcome{done}, payment.Charged, "", "100070 / 0", 1},
		{"pending, then done", []actors.Outcome{{Verdict: payment.VerdictPending, Again: time.Second}, done}, payment.Charged, "", "100070 / 0", 1},
		{"refused", []actors.Outcome{{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}}, payment.PaymentHeld, "no", "100000 / 0", 1},
		{"never arrived, and is sent again by its name", []actors.Outcome{notKnown}, payment.Charged, "", "100070 / 0", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := scripted(actors.Capture, lostAnswer, done).says(actors.Capture, c.says...)
			f := twoPhased(t, func(f *fixture) { f.on(r) })
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			if r := f.must(f.Commit(part(id, 0))); r.Status != payment.PaymentHeld {
				t.Errorf("%s %q", r.Status, why(r.Failure))
			}
			_, err := f.Commit(part(id, 0))
			f.refused(err, ledger.Conflict)
			_, err = f.Cancel(of(id))
			f.refused(err, ledger.Conflict)
			f.advance(time.Minute)
			f.is(id, c.status, c.reason)
			f.has(c.has)
			f.submitted(id, actors.Capture, c.calls)
			if c.status == payment.PaymentHeld {
				f.advance(directory.DefaultHoldTTL)
				f.is(id, payment.Failed, "hold expired")
			}
		})
	}
}

func TestAHoldThatTheRailHasCapturedByItselfIsChargedWhenItShouldExpire(t *testing.T) {
	r := scripted(actors.Void, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "captured"}})
	r.inquire = func(context.Context, *actors.Question) actors.Outcome { return done }
	f := twoPhased(t, func(f *fixture) { f.on(r) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.advance(directory.DefaultHoldTTL)
	if got := f.is(id, payment.Charged, "").Captured; got != money.FromUint64(70) {
		t.Errorf("captured %v", got)
	}
	f.has("100070 / 0")
}

// A hold that expires while its commit is unknown is not given up before the commit's answer.
func TestAHoldDoesNotExpireUnderACommit(t *testing.T) {
	r := scripted(actors.Capture, lostAnswer).says(actors.Capture, actors.Outcome{Verdict: payment.VerdictPending, Again: time.Hour}, done)
	f := twoPhased(t, func(f *fixture) {
		f.set(0, func(s terminalSettings) { s.HoldTTL = time.Minute })
		f.on(r)
	})
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.must(f.Commit(part(id, 0)))
	f.advance(30 * time.Minute)
	f.is(id, payment.PaymentHeld, "")
	f.submitted(id, actors.Void, 0)
	f.advance(time.Hour)
	f.is(id, payment.Charged, "")
}

// If a commit was thought lost, the rail has captured the amount of that commit.
func TestAHoldThatTheRailHasCapturedAfterALostCommitIsChargedForThatMuch(t *testing.T) {
	r := new(fakeProvider)
	r.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		switch call.Operation {
		case actors.Capture:
			return lostAnswer
		case actors.Void:
			return actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "captured"}}
		}
		return r.Provider.Submit(ctx, call)
	}
	r.inquire = func(_ context.Context, q *actors.Question) actors.Outcome {
		if q.Operation == actors.Capture {
			return notKnown
		}
		return done
	}
	f := twoPhased(t, func(f *fixture) { f.on(r) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.must(f.Commit(part(id, 30)))
	f.advance(time.Hour)
	f.is(id, payment.PaymentHeld, "interrupted")
	_, err := f.Cancel(of(id))
	f.refused(err, ledger.NotReversible)
	if got := f.is(id, payment.Charged, "").Captured; got != money.FromUint64(30) {
		t.Errorf("captured %v", got)
	}
	f.has("100030 / 0")
}
