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

// report makes the rail report something about a transaction, and waits for the immediate
// consequences.
func (f *fixture) report(id ledger.ID, what actors.Reported, reason string) {
	f.t.Helper()
	f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{
		Org: org, Reference: id, Terminal: f.read(id).Terminal, What: what, Failure: payment.Failure{Detail: reason},
	}))
	f.Runtime.Quiesce()
}

const (
	lateIn   = "settle_late posted: Dr A:provider 70, Cr L:suspense:1 70"
	lateBack = "gave_back posted: Cr A:provider 70, Dr L:suspense:1 70"
)

func TestMoneyThatMovesForAClosedPaymentWaitsInSuspenseAndIsGivenBack(t *testing.T) {
	for name, card := range map[string]string{"cancelled": "4000000000000077", "declined": "4000000000000002", "failed": "4000000000000119"} {
		t.Run(name, func(t *testing.T) {
			f := openAs(t, func(f *fixture) { f.on(scripted(actors.Refund, done)) })
			closed := f.create(payment.Payment, card, 70, "").Record
			if name == "cancelled" {
				closed = f.must(f.Cancel(of(closed.ID)))
			}
			f.report(closed.ID, actors.Settled, "")
			f.advance(time.Second)
			r := f.is(closed.ID, closed.Status, why(closed.Failure))
			if !r.SettledLate || refundID(r) == (ledger.ID{}) || refundMsg(r) != "refunded" || r.Finished != closed.Finished {
				t.Errorf("%+v", r)
			}
			f.booked(r.ID, lateIn, lateBack)
			f.has("100000 / 0")
			f.submitted(r.ID, actors.Refund, 1)
			f.report(r.ID, actors.Settled, "") // the rail repeats the report
			f.advance(time.Hour)
			f.booked(r.ID, lateIn, lateBack)
			f.submitted(r.ID, actors.Refund, 1)
		})
	}
}

func TestMoneyInSuspenseThatTheRailDoesNotTakeBackStaysThere(t *testing.T) {
	f := openAs(t, func(f *fixture) {
		f.on(scripted(actors.Refund, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}))
	})
	id := f.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	f.report(id, actors.Settled, "")
	f.advance(time.Hour)
	if r := f.is(id, payment.Rejected, "card_declined"); refundMsg(r) != "no" {
		t.Errorf("%q", refundMsg(r))
	}
	f.booked(id, lateIn)
}

func TestTheWayBackOfMoneyInSuspenseIsInquiredWhereItsAnswerIsLost(t *testing.T) {
	r := scripted(actors.Refund, lostAnswer).says(actors.Refund, actors.Outcome{Verdict: payment.VerdictPending, Again: time.Minute}, done)
	f := openAs(t, func(f *fixture) { f.on(r) })
	id := f.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	f.report(id, actors.Settled, "")
	f.advance(time.Second)
	f.restart()
	f.advance(time.Hour)
	f.booked(id, lateIn, lateBack)
	f.submitted(id, actors.Refund, 1)
}

// A payout that was sent after all cannot be called back.
func TestAPayoutThatSettlesLateStaysInSuspense(t *testing.T) {
	f := openAs(t, func(f *fixture) { f.on(new(fakeProvider)) })
	id := f.create(payment.Payout, "4000000000000002", 70, "").Record.ID
	f.report(id, actors.Settled, "")
	f.advance(time.Hour)
	provider := "A:provider:" + f.terminals[1].ID.String()
	f.booked(id,
		"authorise pending: Dr L:partner:1:available 70, Cr "+provider+" 70", "decline void: Dr L:partner:1:available 70, Cr "+provider+" 70",
		"settle_late posted: Cr "+provider+" 70, Dr L:suspense:1 70")
	f.submitted(id, actors.Refund, 0)
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
			r := new(fakeProvider)
			submitted, resume := make(chan ledger.ID), make(chan struct{})
			r.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
				switch call.Operation {
				case actors.Refund:
					return done
				case actors.Void:
					submitted <- call.Reference
					<-resume
					return c.void
				}
				return r.Provider.Submit(ctx, call)
			}
			r.inquire = func(context.Context, *actors.Question) actors.Outcome { return c.says }
			f := openAs(t, func(f *fixture) { f.on(r) })
			id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
			cancelled := f.SendCancel(of(id))
			<-submitted
			f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: id, Terminal: f.terminals[0].ID, What: actors.Settled}))
			close(resume)
			_ = answered(t, cancelled) // granted or not
			f.advance(time.Hour)
			if got := f.read(id).Status; got != c.status {
				t.Errorf("%s", got)
			}
			f.booked(id, c.booked...)
		})
	}
}

func TestAChargeThatIsReportedAsSettledIsChargedWithoutAnInquiry(t *testing.T) {
	r := scripted(actors.Pay, actors.Outcome{Verdict: payment.VerdictPending, Again: time.Hour})
	f := openAs(t, func(f *fixture) { f.on(r) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.report(id, actors.Settled, "")
	f.is(id, payment.Charged, "")
	f.has("100070 / 0")
	if n := r.inquired.Load(); n != 0 {
		t.Errorf("%d inquiries", n)
	}
}

func TestARejectedPaymentThatTheRailCorrectsIsFailed(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	for range 2 {
		f.report(id, actors.Corrected, "processing_error")
		f.is(id, payment.Failed, "processing_error")
	}
	f.went(id, "created new authorizing rejected failed")
	for _, c := range []struct {
		card string
		want payment.Status
	}{{"4242424242424242", payment.Charged}, {"4000000000000077", payment.Charging}, {redirect, payment.ActionRequired}} {
		other := f.create(payment.Payment, c.card, 70, "").Record.ID
		f.report(other, actors.Corrected, "processing_error")
		f.is(other, c.want, "")
	}
	f.terminals = nil
	unrouted := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.report(unrouted, actors.Corrected, "processing_error")
	f.is(unrouted, payment.Rejected, "no terminal available")
}

func TestWhatARailReportsOfAnotherTerminalIsNotBelieved(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	for _, what := range []actors.Reported{actors.TakenBack, actors.Corrected, actors.Settled} {
		f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: id, Terminal: f.terminals[1].ID, What: what}))
	}
	f.Runtime.Quiesce()
	f.is(id, payment.Charged, "")
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
			f := openAs(t, func(f *fixture) { f.on(scripted(actors.Refund, c.refund).says(actors.Refund, c.says)) })
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			f.must(f.Refund(part(id, 30)))
			f.report(id, actors.TakenBack, "the bank's own words")
			if r := f.read(id); r.Status == payment.Reversed {
				t.Error("reversed under a refund")
			}
			f.advance(time.Minute)
			r := f.is(id, payment.Reversed, "the bank's own words")
			if r.Failure.Code != payment.TakenBack {
				t.Errorf("reversed for %+v", r.Failure)
			}
			reloaded := f.is(r.ReturnID, payment.Charged, "")
			if reloaded.Type != payment.Payout || reloaded.Amount != money.FromUint64(c.amount) || string(reloaded.MerchantMeta) != `{"reversal_of":"`+id.String()+`"}` {
				t.Errorf("the return is %+v", reloaded)
			}
			f.booked(r.ReturnID, c.booked)
			f.has("100000 / 0")
			_, err := f.Refund(part(id, 0))
			f.refused(err, ledger.NotReversible)
		})
	}
}

func TestAReversalOfWhatWasRefundedWhollyTakesNothing(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.must(f.Refund(part(id, 0)))
	f.report(id, actors.TakenBack, "taken_back")
	f.is(id, payment.Refunded, "")
	f.has("100000 / 0")
	if n := f.Runtime.Live(); n != 0 {
		t.Errorf("%d actors stay", n)
	}
}

// A chargeback after a partial capture takes back what was captured.
func TestAReversalOfACommitTakesWhatWasCaptured(t *testing.T) {
	f := twoPhased(t, plain)
	id := f.create(payment.Payment, "4000000000000259", 70, "").Record.ID
	f.must(f.Commit(part(id, 50)))
	f.advance(time.Minute)
	r := f.is(id, payment.Reversed, "taken_back")
	if reloaded := f.read(r.ReturnID); reloaded.Amount != money.FromUint64(50) {
		t.Errorf("%v is taken back", reloaded.Amount)
	}
	f.has("100000 / 0")
}
