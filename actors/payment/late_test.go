package payment_test

import (
	"context"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// tells makes the rail report something about a transaction, and waits for the immediate
// consequences.
func (h *fixture) tells(id ledger.ID, what actors.Reported, reason string) {
	h.t.Helper()
	h.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{
		Org: org, Reference: id, Terminal: h.read(id).Terminal, What: what, Failure: payment.Failure{Detail: reason},
	}))
	h.Runtime.Quiesce()
}

const (
	lateIn   = "settle_late posted: Dr A:provider 70, Cr L:suspense:1 70"
	lateBack = "gave_back posted: Cr A:provider 70, Dr L:suspense:1 70"
)

func TestMoneyThatMovesForAClosedPaymentWaitsInSuspenseAndIsGivenBack(t *testing.T) {
	for name, card := range map[string]string{"cancelled": "4000000000000077", "declined": "4000000000000002", "failed": "4000000000000119"} {
		t.Run(name, func(t *testing.T) {
			h := openAs(t, func(h *fixture) { h.on(scripted(actors.Refund, done)) })
			closed := h.create(payment.Payment, card, 70, "").Record
			if name == "cancelled" {
				closed = h.must(h.Cancel(of(closed.ID)))
			}
			h.tells(closed.ID, actors.Settled, "")
			h.advance(time.Second)
			r := h.is(closed.ID, closed.Status, why(closed.Failure))
			if !r.SettledLate || refundID(r) == (ledger.ID{}) || refundMsg(r) != "refunded" || r.Finished != closed.Finished {
				t.Errorf("%+v", r)
			}
			h.booked(r.ID, lateIn, lateBack)
			h.has("100000 / 0")
			h.submitted(r.ID, actors.Refund, 1)
			h.tells(r.ID, actors.Settled, "") // the rail repeats the report
			h.advance(time.Hour)
			h.booked(r.ID, lateIn, lateBack)
			h.submitted(r.ID, actors.Refund, 1)
		})
	}
}

func TestMoneyInSuspenseThatTheRailDoesNotTakeBackStaysThere(t *testing.T) {
	h := openAs(t, func(h *fixture) {
		h.on(scripted(actors.Refund, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}))
	})
	id := h.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	h.tells(id, actors.Settled, "")
	h.advance(time.Hour)
	if r := h.is(id, payment.Rejected, "card_declined"); refundMsg(r) != "no" {
		t.Errorf("%q", refundMsg(r))
	}
	h.booked(id, lateIn)
}

func TestTheWayBackOfMoneyInSuspenseIsInquiredWhereItsAnswerIsLost(t *testing.T) {
	r := scripted(actors.Refund, lostAnswer).says(actors.Refund, actors.Outcome{Verdict: payment.VerdictPending, Again: time.Minute}, done)
	h := openAs(t, func(h *fixture) { h.on(r) })
	id := h.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	h.tells(id, actors.Settled, "")
	h.advance(time.Second)
	h.restart()
	h.advance(time.Hour)
	h.booked(id, lateIn, lateBack)
	h.submitted(id, actors.Refund, 1)
}

// A payout that was sent after all cannot be called back.
func TestAPayoutThatSettlesLateStaysInSuspense(t *testing.T) {
	h := openAs(t, func(h *fixture) { h.on(new(rail)) })
	id := h.create(payment.Payout, "4000000000000002", 70, "").Record.ID
	h.tells(id, actors.Settled, "")
	h.advance(time.Hour)
	provider := "A:provider:" + h.terminals[1].ID.String()
	h.booked(id,
		"authorise pending: Dr L:partner:1:available 70, Cr "+provider+" 70", "decline void: Dr L:partner:1:available 70, Cr "+provider+" 70",
		"settle_late posted: Cr "+provider+" 70, Dr L:suspense:1 70")
	h.submitted(id, actors.Refund, 0)
}

// A rail's report during another call is not forgotten.
func TestASettlementThatIsReportedWhileAVoidIsUnderWayIsWrittenDownAfterIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		void   actors.Outcome
		says   actors.Outcome
		status payment.Status
		booked []string
	}{
		{"granted", done, done, payment.Failed, []string{lateIn, lateBack}},
		{"unknown, then granted", lostAnswer, done, payment.Failed, []string{lateIn, lateBack}},
		{"refused", actors.Outcome{Verdict: payment.VerdictRefused}, done, payment.Charged,
			[]string{"settle posted: Dr A:provider 70, Cr L:partner:1:available 70"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := new(rail)
			began, resume := make(chan ledger.ID), make(chan struct{})
			r.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
				switch call.Operation {
				case actors.Refund:
					return done
				case actors.Void:
					began <- call.Reference
					<-resume
					return c.void
				}
				return r.Provider.Submit(ctx, call)
			}
			r.inquire = func(context.Context, *actors.Question) actors.Outcome { return c.says }
			h := openAs(t, func(h *fixture) { h.on(r) })
			id := h.create(payment.Payment, "4000000000000077", 70, "").Record.ID
			cancelled := h.SendCancel(of(id))
			<-began
			h.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: id, Terminal: h.terminals[0].ID, What: actors.Settled}))
			close(resume)
			_ = answered(t, cancelled) // granted or not
			h.advance(time.Hour)
			if got := h.read(id).Status; got != c.status {
				t.Errorf("%s", got)
			}
			h.booked(id, c.booked...)
		})
	}
}

func TestAChargeThatIsReportedAsSettledIsChargedWithoutAnInquiry(t *testing.T) {
	r := scripted(actors.Pay, actors.Outcome{Verdict: payment.VerdictPending, Again: time.Hour})
	h := openAs(t, func(h *fixture) { h.on(r) })
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	h.tells(id, actors.Settled, "")
	h.is(id, payment.Charged, "")
	h.has("100070 / 0")
	if n := r.inquired.Load(); n != 0 {
		t.Errorf("%d inquiries", n)
	}
}

func TestARejectedPaymentThatTheRailCorrectsIsFailed(t *testing.T) {
	h := open(t)
	id := h.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	for range 2 {
		h.tells(id, actors.Corrected, "processing_error")
		h.is(id, payment.Failed, "processing_error")
	}
	h.went(id, "created new authorizing rejected failed")
	for _, c := range []struct {
		card string
		want payment.Status
	}{{"4242424242424242", payment.Charged}, {"4000000000000077", payment.Charging}, {redirect, payment.ActionRequired}} {
		other := h.create(payment.Payment, c.card, 70, "").Record.ID
		h.tells(other, actors.Corrected, "processing_error")
		h.is(other, c.want, "")
	}
	h.terminals = nil
	unrouted := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	h.tells(unrouted, actors.Corrected, "processing_error")
	h.is(unrouted, payment.Rejected, "no terminal available")
}

func TestWhatARailReportsOfAnotherTerminalIsNotBelieved(t *testing.T) {
	h := open(t)
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	for _, what := range []actors.Reported{actors.TakenBack, actors.Corrected, actors.Settled} {
		h.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: id, Terminal: h.terminals[1].ID, What: what}))
	}
	h.Runtime.Quiesce()
	h.is(id, payment.Charged, "")
}

// Only what was not refunded yet is taken back, after the result of a refund in progress is known.
func TestAReversalWhileARefundIsUnderWayTakesWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		refund actors.Outcome
		says   actors.Outcome
		amount uint64 // of the return
		booked string
	}{
		{"refunded later", actors.Outcome{Verdict: payment.VerdictPending, Again: time.Second}, done, 40, "return posted: Cr A:provider 40, Dr L:partner:1:available 40"},
		{"refused later", actors.Outcome{Verdict: payment.VerdictPending, Again: time.Second}, actors.Outcome{Verdict: payment.VerdictRefused}, 70,
			"return posted: Cr A:provider 70, Dr L:partner:1:available 70"},
		{"unknown, then refunded", lostAnswer, done, 40, "return posted: Cr A:provider 40, Dr L:partner:1:available 40"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := openAs(t, func(h *fixture) { h.on(scripted(actors.Refund, c.refund).says(actors.Refund, c.says)) })
			id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			h.must(h.Refund(part(id, 30)))
			h.tells(id, actors.TakenBack, "the bank's own words")
			if r := h.read(id); r.Status == payment.Reversed {
				t.Error("reversed under a refund")
			}
			h.advance(time.Minute)
			r := h.is(id, payment.Reversed, "the bank's own words")
			if r.Failure.Code != payment.TakenBack {
				t.Errorf("reversed for %+v", r.Failure)
			}
			back := h.is(r.ReturnID, payment.Charged, "")
			if back.Type != payment.Payout || back.Amount != money.FromUint64(c.amount) || string(back.MerchantMeta) != `{"reversal_of":"`+id.String()+`"}` {
				t.Errorf("the return is %+v", back)
			}
			h.booked(r.ReturnID, c.booked)
			h.has("100000 / 0")
			_, err := h.Refund(part(id, 0))
			h.refused(err, ledger.NotReversible)
		})
	}
}

func TestAReversalOfWhatWasRefundedWhollyTakesNothing(t *testing.T) {
	h := open(t)
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	h.must(h.Refund(part(id, 0)))
	h.tells(id, actors.TakenBack, "taken_back")
	h.is(id, payment.Refunded, "")
	h.has("100000 / 0")
	if n := h.Runtime.Live(); n != 0 {
		t.Errorf("%d actors stay", n)
	}
}

// A chargeback after a partial capture takes back what was captured.
func TestAReversalOfACommitTakesWhatWasCaptured(t *testing.T) {
	h := twoPhased(t, plain)
	id := h.create(payment.Payment, "4000000000000259", 70, "").Record.ID
	h.must(h.Commit(part(id, 50)))
	h.advance(time.Minute)
	r := h.is(id, payment.Reversed, "taken_back")
	if back := h.read(r.ReturnID); back.Amount != money.FromUint64(50) {
		t.Errorf("%v is taken back", back.Amount)
	}
	h.has("100000 / 0")
}
