package payment_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

func TestWhatHasNotSettledIsCancelledAtTheProviderAndFailed(t *testing.T) {
	f := open(t)
	for name, r := range map[string]*payment.Record{
		"charging":             f.create(payment.Payment, "4000000000000077", 70, "").Record,
		"unknown":              f.create(payment.Payment, "4000000000000341", 70, "").Record,
		"waiting":              f.create(payment.Payment, redirect, 70, "").Record,
		"a charging payout":    f.create(payment.Payout, "4000000000000077", 70, "").Record,
		"a payout that waits":  f.must(f.begin(payment.Payout, "", 70, method("sepa"))),
		"a payment on a page":  f.must(f.begin(payment.Payment, "", 70, method("sbp"))),
		"a payment by deposit": f.must(f.begin(payment.Payment, "", 70, method("crypto"))),
	} {
		t.Run(name, func(t *testing.T) {
			cancelled := f.must(f.Cancel(of(r.ID)))
			if cancelled.Status != payment.Failed || why(cancelled.Failure) != "cancelled" || cancelled.Action != nil {
				t.Errorf("%s %q", cancelled.Status, why(cancelled.Failure))
			}
			f.submitted(r.ID, actors.Void, 1)
			_, err := f.Cancel(of(r.ID))
			f.refused(err, ledger.NotReversible)
		})
	}
	f.advance(time.Hour)
	f.has("100000 / 0")
	if got := f.headroom(usd); got != "0" {
		t.Errorf("headroom %s", got)
	}
}

func TestWhatNeverReachedAProviderOrIsOverIsNotCancelled(t *testing.T) {
	f := open(t)
	for name, r := range map[string]*payment.Record{
		"charged":  f.create(payment.Payment, "4242424242424242", 70, "").Record,
		"declined": f.create(payment.Payment, "4000000000000002", 70, "").Record,
		"rejected": f.must(f.begin(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Request.FailURL = "" })),
		"hosted":   f.hosted("").Record,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.Cancel(of(r.ID))
			f.refused(err, ledger.NotReversible)
			f.submitted(r.ID, actors.Void, 0)
		})
	}
}

// If the provider answers that the charge has settled, the transaction is charged, and the caller
// of the cancel is told that it was too late.
func TestACancelThatComesAfterTheSettlementIsRefusedByWhatTheProviderSays(t *testing.T) {
	refused := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "already_charged"}}
	r := scripted(actors.Void, refused).says(actors.Pay, done)
	f := openAs(t, func(f *fixture) { f.on(r) })
	for _, card := range []string{"4000000000000077", redirect} {
		id := f.create(payment.Payment, card, 70, "").Record.ID
		_, err := f.Cancel(of(id))
		f.refused(err, ledger.NotReversible)
		f.is(id, payment.Charged, "")
		if f.sealed(id) {
			t.Error("its card is kept")
		}
	}
	f.has("100140 / 0")
}

func TestACancelThatTheProviderDoesNotGrantLeavesTheChargeAsItIs(t *testing.T) {
	refused := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "busy"}}
	r := scripted(actors.Void, refused).says(actors.Pay, actors.Outcome{Verdict: payment.VerdictPending, Again: time.Second}, done)
	f := openAs(t, func(f *fixture) { f.on(r) })
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	if r := f.must(f.Cancel(of(id))); r.Status != payment.Charging || why(r.Failure) != "" {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	f.advance(time.Second)
	f.is(id, payment.Charged, "")
}

func TestWhileACancelIsUnknownNothingElseIsTriedAndItsInquiryDecides(t *testing.T) {
	for _, c := range []struct {
		name   string
		says   []actors.Outcome
		charge actors.Outcome
		status payment.Status
		reason string
	}{
		{"granted", []actors.Outcome{done}, done, payment.Failed, "cancelled"},
		{"refused", []actors.Outcome{{Verdict: payment.VerdictRefused}}, done, payment.Charged, ""},
		{"never arrived, and is sent again by its name", []actors.Outcome{notKnown}, done, payment.Failed, "cancelled"},
		{"refused, and the charge too", []actors.Outcome{{Verdict: payment.VerdictRefused}},
			actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}, payment.Rejected, "card_declined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := scripted(actors.Void, lostAnswer, done)
			r.inquire = func(ctx context.Context, q *actors.Question) actors.Outcome {
				if q.Operation == actors.Void {
					o := c.says[0]
					c.says = c.says[min(1, len(c.says)-1):]
					return o
				}
				return c.charge
			}
			f := openAs(t, func(f *fixture) { f.on(r) })
			id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
			if r := f.must(f.Cancel(of(id))); r.Status != payment.Charging {
				t.Errorf("%s %q", r.Status, why(r.Failure))
			}
			_, err := f.Cancel(of(id))
			f.refused(err, ledger.Conflict)
			_, err = f.Commit(part(id, 0))
			f.refused(err, ledger.Conflict)
			f.advance(time.Minute)
			f.is(id, c.status, c.reason)
			f.submitted(id, actors.Void, 1+strings.Count(c.name, "again"))
		})
	}
}

// An operation waits for the answer to the call in progress, which may decide it.
func TestOperationsWaitForTheAnswerToTheCallThatIsUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		outcome   actors.Outcome
		cancelled ledger.Code // empty: granted
		refunded  ledger.Code
	}{
		"charged":  {done, ledger.NotReversible, ""},
		"declined": {actors.Outcome{Verdict: payment.VerdictRefused}, ledger.NotReversible, ledger.NotReversible},
		"pending":  {actors.Outcome{Verdict: payment.VerdictPending, Again: time.Hour}, "", ledger.NotReversible},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(fakeProvider)
			submitted, resume := make(chan ledger.ID), make(chan struct{})
			r.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
				if call.Operation != actors.Pay {
					return done
				}
				submitted <- call.Reference
				<-resume
				return c.outcome
			}
			f := openAs(t, func(f *fixture) { f.on(r) })
			go func() { _, _ = f.try(payment.Payment, "") }()
			id := <-submitted
			cancelled, refunded := f.SendCancel(of(id)), f.SendRefund(of(id))
			close(resume)
			for _, answer := range []struct {
				err  error
				want ledger.Code
			}{{answered(t, cancelled), c.cancelled}, {answered(t, refunded), c.refunded}} {
				if answer.want != "" {
					f.refused(answer.err, answer.want)
				} else if answer.err != nil {
					t.Error(answer.err)
				}
			}
		})
	}
}

func TestOperationsThatWaitAreBoundedAndEachIsAnswered(t *testing.T) {
	r := new(fakeProvider)
	submitted, resume := make(chan ledger.ID), make(chan struct{})
	r.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		submitted <- call.Reference
		<-resume
		return done
	}
	f := openAs(t, func(f *fixture) { f.on(r) })
	go func() { _, _ = f.try(payment.Payment, "") }()
	id := <-submitted
	answers := make([]<-chan error, paymentactor.MaxStashed)
	for i := range answers {
		answers[i] = f.SendCancel(of(id))
	}
	f.refused(answered(t, f.SendCancel(of(id))), ledger.Unavailable)
	close(resume)
	for _, answer := range answers {
		f.refused(answered(t, answer), ledger.NotReversible)
	}
	soon(t, "at rest", f.Runtime.Quiesce)
}

// A waiting caller gets an answer, whatever goes wrong meanwhile.
func TestOperationsThatWaitAreAnsweredAfterAPanic(t *testing.T) {
	r := new(fakeProvider)
	submitted, resume := make(chan ledger.ID), make(chan struct{})
	r.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		submitted <- call.Reference
		<-resume
		return done
	}
	f := openAs(t, func(f *fixture) { f.on(r) })
	go func() { _, _ = f.try(payment.Payment, "") }()
	id := <-submitted
	cancelled := f.SendCancel(of(id))
	f.Send(actors.RecordKey{Org: org, ID: id}, "what is this")
	f.refused(answered(t, cancelled), ledger.Internal)
	close(resume)
	soon(t, "at rest", f.Runtime.Quiesce)
	f.is(id, payment.Charged, "")
}

// The second "unknown reference" is inquired at its due instant, even if the payer returns or the
// merchant cancels meanwhile, because the call may still be on its way.
func TestNobodyShortensTheWaitForACallOnItsWay(t *testing.T) {
	busy := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "busy"}}
	for name, meddle := range map[string]func(*fixture, ledger.ID) (paymentactor.Result, error){
		"the payer comes back": func(f *fixture, id ledger.ID) (paymentactor.Result, error) { return f.Returned(org, id) },
		"the merchant cancels": func(f *fixture, id ledger.ID) (paymentactor.Result, error) { return f.Cancel(of(id)) },
		"the process restarts": func(f *fixture, id ledger.ID) (paymentactor.Result, error) { f.restart(); return f.Find(org, id) },
		"nobody does anything": func(f *fixture, id ledger.ID) (paymentactor.Result, error) { return f.Find(org, id) },
		"a due item comes twice": func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			f.due(id)
			f.due(id)
			f.Runtime.Quiesce()
			return f.Find(org, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &fakeProvider{submit: func(_ context.Context, call *actors.Call) actors.Outcome {
				if call.Operation == actors.Void {
					return busy
				}
				return lostAnswer
			}}
			r.says(actors.Pay, notKnown)
			f := openAs(t, func(f *fixture) { f.on(r) })
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			f.advance(10 * time.Second)
			if r := f.is(id, payment.Charging, ""); r.NotFoundAnswers != 1 {
				t.Fatalf("unheard %d", r.NotFoundAnswers)
			}
			f.advance(time.Second)
			if got := f.must(meddle(f, id)); got.Status != payment.Charging {
				t.Errorf("%s %q before the provider time-out has passed", got.Status, why(got.Failure))
			}
			f.advance(time.Minute)
			f.is(id, payment.Failed, "interrupted")
		})
	}
}

// If a rail never knows the operation under any id, the transaction still ends.
func TestAnOperationThatNeverArrivesIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		operation actors.Operation
		set       func(*fixture)
		card      string
		do        func(f *fixture, id ledger.ID) (paymentactor.Result, error)
		want      payment.Status
	}{
		"refund": {actors.Refund, plain, "4242424242424242", func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			return f.Refund(part(id, 0))
		}, payment.Charged},
		"commit": {actors.Capture, func(f *fixture) { f.set(0, twoPhase) }, "4242424242424242", func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			return f.Commit(part(id, 0))
		}, payment.PaymentHeld},
		"cancel": {actors.Void, plain, "4000000000000077", func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			return f.Cancel(of(id))
		}, payment.Charged},
	} {
		t.Run(name, func(t *testing.T) {
			r := scripted(c.operation, lostAnswer).says(c.operation, notKnown)
			f := openAs(t, func(f *fixture) { c.set(f); f.on(r) })
			id := f.create(payment.Payment, c.card, 70, "").Record.ID
			f.must(c.do(f, id))
			f.advance(10 * time.Minute)
			if got := f.read(id); got.Status != c.want || got.Op != nil {
				t.Errorf("%s with operation %+v", got.Status, got.Op)
			}
			f.submitted(id, c.operation, 2)
		})
	}
}

// An operation that has not begun when its caller stops waiting is not begun any more, because the
// caller was told that nothing was done.
func TestAnOperationThatWaitedTooLongIsNotDone(t *testing.T) {
	r := new(fakeProvider)
	submitted, resume := make(chan ledger.ID), make(chan struct{})
	r.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		submitted <- call.Reference
		<-resume
		return actors.Outcome{Verdict: payment.VerdictAction, Action: &payment.Action{Material: []byte(`{}`)}}
	}
	f := openAs(t, func(f *fixture) { f.wait = 50 * time.Millisecond; f.on(r) })
	go func() { _, _ = f.try(payment.Payment, "") }()
	id := <-submitted
	_, err := f.Cancel(of(id))
	f.refused(err, ledger.Unavailable)
	secret := material(id, `{"otp":"123456"}`)
	_, err = f.Complete(secret)
	f.refused(err, ledger.Unavailable)
	close(resume)
	soon(t, "at rest", f.Runtime.Quiesce)
	f.is(id, payment.ActionRequired, "")
	f.submitted(id, actors.Void, 0)
	f.submitted(id, actors.Complete, 0)
	if !wiped(secret.Object) {
		t.Error("the material is still there")
	}
}

// An operation that has begun is answered with the state reached, and a repeated request gets the
// same answer, whatever happened since.
func TestAnOperationThatTakesTooLongIsAnsweredWithTheStateReached(t *testing.T) {
	r := new(fakeProvider)
	submitted, resume := make(chan struct{}), make(chan struct{})
	r.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Refund {
			close(submitted)
			<-resume
		}
		return r.Provider.Submit(ctx, call)
	}
	f := openAs(t, func(f *fixture) { f.on(r) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	refund := part(id, 0)
	refund.Key = keyed("k", "a")
	overdue := f.BeginRefund(refund)
	<-submitted
	first := f.whole(overdue())
	if first.Record.Status != payment.Charged || first.Record.Op == nil {
		t.Errorf("%s, operation %+v", first.Record.Status, first.Record.Op)
	}
	close(resume)
	soon(t, "at rest", f.Runtime.Quiesce)
	f.is(id, payment.Refunded, "")
	if again := f.whole(f.Refund(refund)); !again.Replay || again.Stamp != first.Stamp || again.Record.Status != payment.Charged {
		t.Errorf("%s %+v, replay %v", again.Record.Status, again.Stamp, again.Replay)
	}
	f.submitted(id, actors.Refund, 1)
}
