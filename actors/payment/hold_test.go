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
	return openAs(t, func(h *fixture) {
		h.set(0, twoPhase)
		h.set(1, twoPhase)
		set(h)
	})
}

func plain(*fixture) {}

func TestAHeldPaymentIsChargedByItsCommit(t *testing.T) {
	h := twoPhased(t, plain)
	r := h.create(payment.Payment, "4242424242424242", 70, "").Record
	held := h.is(r.ID, payment.PaymentHeld, "")
	if got := held.HoldUntil.Time().Sub(start); got != directory.DefaultHoldTTL {
		t.Errorf("held for %v", got)
	}
	h.booked(r.ID, "hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70")
	h.has("100000 / 0")
	charged := h.must(h.Commit(part(r.ID, 0)))
	if charged.Status != payment.Charged || charged.Captured != money.FromUint64(70) || charged.Finished == 0 || len(charged.RRN) != 12 {
		t.Errorf("%+v", charged)
	}
	h.booked(r.ID, "hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70",
		"capture capture: Dr A:provider 70, Cr L:partner:1:available 70")
	h.went(r.ID, "created new authorizing charging payment_suspended payment_suspended charged")
	h.has("100070 / 0")
	h.submitted(r.ID, actors.Capture, 1)
}

func TestACommitOfAPartReleasesTheRestAndTakesTheFeeOfThePart(t *testing.T) {
	h := twoPhased(t, func(h *fixture) {
		h.set(0, func(s terminalSettings) { s.FeeBps = 1_000 }) // a tenth
	})
	id := h.create(payment.Payment, "4242424242424242", 100, "").Record.ID
	r := h.must(h.Commit(part(id, 55)))
	if r.Status != payment.Charged || r.Captured != money.FromUint64(55) || r.Fee != money.FromUint64(5) || r.Merchant.Abs != money.FromUint64(50) {
		t.Errorf("captured %v, fee %v, merchant %v", r.Captured, r.Fee, r.Merchant)
	}
	if r.Amount != money.FromUint64(100) {
		t.Errorf("the amount asked for became %v", r.Amount)
	}
	h.booked(id, "hold_payment pending: Dr A:provider 100, Cr L:partner:1:available 90, Cr I:fees 10",
		"capture capture: Dr A:provider 55, Cr L:partner:1:available 50, Cr I:fees 5")
	h.has("100050 / 0")
	if got := h.headroom(usd); got != "60" { // 55 and the fee
		t.Errorf("headroom %s", got)
	}
	_, err := h.Refund(part(id, 56))
	h.refused(err, ledger.InvalidRefundAmount)
	h.must(h.Refund(part(id, 55)))
	h.is(id, payment.Refunded, "")
}

func TestACommitOfMoreThanIsHeldOrOfNothingIsRefusedAndChangesNothing(t *testing.T) {
	h := twoPhased(t, plain)
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	_, err := h.Commit(part(id, 71))
	h.refused(err, ledger.InvalidCaptureAmount)
	nothing := part(id, 0)
	nothing.Amount = new(money.Amount)
	_, err = h.Commit(nothing)
	h.refused(err, ledger.InvalidCaptureAmount)
	h.is(id, payment.PaymentHeld, "")
	h.submitted(id, actors.Capture, 0)
}

func TestOnlyWhatIsHeldIsCommitted(t *testing.T) {
	h := open(t)
	for _, card := range []string{"4242424242424242", "4000000000000002", "4000000000000077"} {
		_, err := h.Commit(part(h.create(payment.Payment, card, 70, "").Record.ID, 0))
		h.refused(err, ledger.Conflict)
	}
}

func TestACancelledHoldIsReleasedAndFailed(t *testing.T) {
	h := twoPhased(t, plain)
	for kind, entries := range map[payment.Type][]string{
		payment.Payment: {"hold_payment pending: Dr A:provider 70, Cr L:partner:1:available 70", "void void: Dr A:provider 70, Cr L:partner:1:available 70"},
		payment.Payout: {"authorise pending: Dr L:partner:1:available 70, Cr A:provider:" + h.terminals[1].ID.String() + " 70",
			"void void: Dr L:partner:1:available 70, Cr A:provider:" + h.terminals[1].ID.String() + " 70"},
	} {
		id := h.create(kind, "4242424242424242", 70, "").Record.ID
		if r := h.must(h.Cancel(of(id))); r.Status != payment.Failed || why(r.Failure) != "cancelled" || r.Finished == 0 {
			t.Errorf("%v: %s %q", kind, r.Status, why(r.Failure))
		}
		h.booked(id, entries...)
		h.has("100000 / 0")
		_, err := h.Commit(part(id, 0))
		h.refused(err, ledger.Conflict)
		_, err = h.Cancel(of(id))
		h.refused(err, ledger.NotReversible)
		_, err = h.Refund(part(id, 0))
		h.refused(err, ledger.NotReversible)
		h.submitted(id, actors.Void, 1)
	}
	if got := h.headroom(usd); got != "0" {
		t.Errorf("headroom %s", got)
	}
}

func TestAHoldExpiresByTheClock(t *testing.T) {
	h := twoPhased(t, func(h *fixture) {
		h.set(1, func(s terminalSettings) { s.HoldTTL = time.Hour })
	})
	payIn := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	payOut := h.create(payment.Payout, "4242424242424242", 50, "").Record.ID
	h.has("100000 / 50")
	h.advance(time.Hour - time.Second)
	h.is(payOut, payment.PayoutHeld, "")
	h.advance(time.Second)
	h.is(payOut, payment.Failed, "hold expired")
	h.has("100000 / 0")
	h.advance(7*24*time.Hour - time.Hour - time.Second)
	h.is(payIn, payment.PaymentHeld, "")
	h.advance(time.Second)
	h.is(payIn, payment.Failed, "hold expired")
	for _, id := range []ledger.ID{payIn, payOut} {
		h.submitted(id, actors.Void, 1)
	}
}

func TestAHoldExpiresAlsoIfTheProcessWasDownMeanwhile(t *testing.T) {
	h := twoPhased(t, plain)
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	h.stop()
	if err := h.Clock.Set(start.Add(8 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	h.start()
	h.Runtime.Quiesce()
	h.is(id, payment.Failed, "hold expired")
}

func TestAHeldPayoutHoldsItsMoneyUntilItIsCommitted(t *testing.T) {
	h := twoPhased(t, plain)
	id := h.create(payment.Payout, "4242424242424242", 70, "").Record.ID
	h.is(id, payment.PayoutHeld, "")
	h.has("100000 / 70")
	h.must(h.Commit(part(id, 30)))
	h.is(id, payment.Charged, "")
	h.has("99970 / 0")
}

func TestWhatIsHeldCannotBeRefundedOnlyCancelled(t *testing.T) {
	h := twoPhased(t, plain)
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	_, err := h.Refund(part(id, 0))
	h.refused(err, ledger.NotReversible)
}

func TestACardThatTakesItsTimeIsHeldWhenItIsDone(t *testing.T) {
	h := twoPhased(t, plain)
	id := h.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	h.is(id, payment.Charging, "")
	h.advance(5 * time.Second)
	h.is(id, payment.PaymentHeld, "")
	h.must(h.Commit(part(id, 0)))
	h.is(id, payment.Charged, "")
}

// scripted is a rail on which one operation has the outcomes that a test sets.
func scripted(operation actors.Operation, outcomes ...actors.Outcome) *rail {
	r := new(rail)
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
func (r *rail) says(operation actors.Operation, outcomes ...actors.Outcome) *rail {
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
	h := twoPhased(t, func(h *fixture) { h.on(r) })
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	if r := h.must(h.Commit(part(id, 0))); r.Status != payment.PaymentHeld || why(r.Failure) != "too_late" {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	h.advance(directory.DefaultHoldTTL)
	h.is(id, payment.Failed, "hold expired")
	h.has("100000 / 0")
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
			h := twoPhased(t, func(h *fixture) { h.on(r) })
			id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			if r := h.must(h.Commit(part(id, 0))); r.Status != payment.PaymentHeld {
				t.Errorf("%s %q", r.Status, why(r.Failure))
			}
			_, err := h.Commit(part(id, 0))
			h.refused(err, ledger.Conflict)
			_, err = h.Cancel(of(id))
			h.refused(err, ledger.Conflict)
			h.advance(time.Minute)
			h.is(id, c.status, c.reason)
			h.has(c.has)
			h.submitted(id, actors.Capture, c.calls)
			if c.status == payment.PaymentHeld {
				h.advance(directory.DefaultHoldTTL)
				h.is(id, payment.Failed, "hold expired")
			}
		})
	}
}

func TestAHoldThatTheRailHasCapturedByItselfIsChargedWhenItShouldExpire(t *testing.T) {
	r := scripted(actors.Void, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "captured"}})
	r.inquire = func(context.Context, *actors.Question) actors.Outcome { return done }
	h := twoPhased(t, func(h *fixture) { h.on(r) })
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	h.advance(directory.DefaultHoldTTL)
	if got := h.is(id, payment.Charged, "").Captured; got != money.FromUint64(70) {
		t.Errorf("captured %v", got)
	}
	h.has("100070 / 0")
}

// A hold that expires while its commit is unknown is not given up before the commit's answer.
func TestAHoldDoesNotExpireUnderACommit(t *testing.T) {
	r := scripted(actors.Capture, lostAnswer).says(actors.Capture, actors.Outcome{Verdict: payment.VerdictPending, Again: time.Hour}, done)
	h := twoPhased(t, func(h *fixture) {
		h.set(0, func(s terminalSettings) { s.HoldTTL = time.Minute })
		h.on(r)
	})
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	h.must(h.Commit(part(id, 0)))
	h.advance(30 * time.Minute)
	h.is(id, payment.PaymentHeld, "")
	h.submitted(id, actors.Void, 0)
	h.advance(time.Hour)
	h.is(id, payment.Charged, "")
}

// If a commit was thought lost, the rail has captured the amount of that commit.
func TestAHoldThatTheRailHasCapturedAfterALostCommitIsChargedForThatMuch(t *testing.T) {
	r := new(rail)
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
	h := twoPhased(t, func(h *fixture) { h.on(r) })
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	h.must(h.Commit(part(id, 30)))
	h.advance(time.Hour)
	h.is(id, payment.PaymentHeld, "interrupted")
	_, err := h.Cancel(of(id))
	h.refused(err, ledger.NotReversible)
	if got := h.is(id, payment.Charged, "").Captured; got != money.FromUint64(30) {
		t.Errorf("captured %v", got)
	}
	h.has("100030 / 0")
}
