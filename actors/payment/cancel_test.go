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
	h := open(t)
	for name, r := range map[string]*payment.Record{
		"charging":             h.create(payment.Payment, "4000000000000077", 70, "").Record,
		"unknown":              h.create(payment.Payment, "4000000000000341", 70, "").Record,
		"waiting":              h.create(payment.Payment, redirect, 70, "").Record,
		"a charging payout":    h.create(payment.Payout, "4000000000000077", 70, "").Record,
		"a payout that waits":  h.must(h.begin(payment.Payout, "", 70, method("sepa"))),
		"a payment on a page":  h.must(h.begin(payment.Payment, "", 70, method("sbp"))),
		"a payment by deposit": h.must(h.begin(payment.Payment, "", 70, method("crypto"))),
	} {
		t.Run(name, func(t *testing.T) {
			cancelled := h.must(h.Cancel(of(r.ID)))
			if cancelled.Status != payment.Failed || why(cancelled.Failure) != "cancelled" || cancelled.Action != nil {
				t.Errorf("%s %q", cancelled.Status, why(cancelled.Failure))
			}
			h.submitted(r.ID, actors.Void, 1)
			_, err := h.Cancel(of(r.ID))
			h.refused(err, ledger.NotReversible)
		})
	}
	h.advance(time.Hour)
	h.has("100000 / 0")
	if got := h.headroom(usd); got != "0" {
		t.Errorf("headroom %s", got)
	}
}

func TestWhatNeverReachedAProviderOrIsOverIsNotCancelled(t *testing.T) {
	h := open(t)
	for name, r := range map[string]*payment.Record{
		"charged":  h.create(payment.Payment, "4242424242424242", 70, "").Record,
		"declined": h.create(payment.Payment, "4000000000000002", 70, "").Record,
		"rejected": h.must(h.begin(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Request.FailURL = "" })),
		"hosted":   h.hosted("").Record,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.Cancel(of(r.ID))
			h.refused(err, ledger.NotReversible)
			h.submitted(r.ID, actors.Void, 0)
		})
	}
}

// If the provider answers that the charge has settled, the transaction is charged, and the caller
// of the cancel is told that it was too late.
func TestACancelThatComesAfterTheSettlementIsRefusedByWhatTheProviderSays(t *testing.T) {
	refused := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "already_charged"}}
	r := scripted(actors.Void, refused).says(actors.Pay, done)
	h := openAs(t, func(h *fixture) { h.on(r) })
	for _, card := range []string{"4000000000000077", redirect} {
		id := h.create(payment.Payment, card, 70, "").Record.ID
		_, err := h.Cancel(of(id))
		h.refused(err, ledger.NotReversible)
		h.is(id, payment.Charged, "")
		if h.sealed(id) {
			t.Error("its card is kept")
		}
	}
	h.has("100140 / 0")
}

func TestACancelThatTheProviderDoesNotGrantLeavesTheChargeAsItIs(t *testing.T) {
	refused := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "busy"}}
	r := scripted(actors.Void, refused).says(actors.Pay, actors.Outcome{Verdict: payment.VerdictPending, Again: time.Second}, done)
	h := openAs(t, func(h *fixture) { h.on(r) })
	id := h.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	if r := h.must(h.Cancel(of(id))); r.Status != payment.Charging || why(r.Failure) != "" {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	h.advance(time.Second)
	h.is(id, payment.Charged, "")
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
			h := openAs(t, func(h *fixture) { h.on(r) })
			id := h.create(payment.Payment, "4000000000000077", 70, "").Record.ID
			if r := h.must(h.Cancel(of(id))); r.Status != payment.Charging {
				t.Errorf("%s %q", r.Status, why(r.Failure))
			}
			_, err := h.Cancel(of(id))
			h.refused(err, ledger.Conflict)
			_, err = h.Commit(part(id, 0))
			h.refused(err, ledger.Conflict)
			h.advance(time.Minute)
			h.is(id, c.status, c.reason)
			h.submitted(id, actors.Void, 1+strings.Count(c.name, "again"))
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
			r := new(rail)
			began, resume := make(chan ledger.ID), make(chan struct{})
			r.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
				if call.Operation != actors.Pay {
					return done
				}
				began <- call.Reference
				<-resume
				return c.outcome
			}
			h := openAs(t, func(h *fixture) { h.on(r) })
			go func() { _, _ = h.try(payment.Payment, "") }()
			id := <-began
			cancelled, refunded := h.SendCancel(of(id)), h.SendRefund(of(id))
			close(resume)
			for _, answer := range []struct {
				err  error
				want ledger.Code
			}{{answered(t, cancelled), c.cancelled}, {answered(t, refunded), c.refunded}} {
				if answer.want != "" {
					h.refused(answer.err, answer.want)
				} else if answer.err != nil {
					t.Error(answer.err)
				}
			}
		})
	}
}

func TestOperationsThatWaitAreBoundedAndEachIsAnswered(t *testing.T) {
	r := new(rail)
	began, resume := make(chan ledger.ID), make(chan struct{})
	r.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		began <- call.Reference
		<-resume
		return done
	}
	h := openAs(t, func(h *fixture) { h.on(r) })
	go func() { _, _ = h.try(payment.Payment, "") }()
	id := <-began
	answers := make([]<-chan error, paymentactor.MaxStashed)
	for i := range answers {
		answers[i] = h.SendCancel(of(id))
	}
	h.refused(answered(t, h.SendCancel(of(id))), ledger.Unavailable)
	close(resume)
	for _, answer := range answers {
		h.refused(answered(t, answer), ledger.NotReversible)
	}
	soon(t, "at rest", h.Runtime.Quiesce)
}

// A waiting caller gets an answer, whatever goes wrong meanwhile.
func TestOperationsThatWaitAreAnsweredAfterAPanic(t *testing.T) {
	r := new(rail)
	began, resume := make(chan ledger.ID), make(chan struct{})
	r.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		began <- call.Reference
		<-resume
		return done
	}
	h := openAs(t, func(h *fixture) { h.on(r) })
	go func() { _, _ = h.try(payment.Payment, "") }()
	id := <-began
	cancelled := h.SendCancel(of(id))
	h.Send(actors.RecordKey{Org: org, ID: id}, "what is this")
	h.refused(answered(t, cancelled), ledger.Internal)
	close(resume)
	soon(t, "at rest", h.Runtime.Quiesce)
	h.is(id, payment.Charged, "")
}

// The second "unknown reference" is inquired at its due instant, even if the payer returns or the
// merchant cancels meanwhile, because the call may still be on its way.
func TestNobodyShortensTheWaitForACallOnItsWay(t *testing.T) {
	busy := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "busy"}}
	for name, meddle := range map[string]func(*fixture, ledger.ID) (paymentactor.Result, error){
		"the payer comes back": func(h *fixture, id ledger.ID) (paymentactor.Result, error) { return h.Returned(org, id) },
		"the merchant cancels": func(h *fixture, id ledger.ID) (paymentactor.Result, error) { return h.Cancel(of(id)) },
		"the process restarts": func(h *fixture, id ledger.ID) (paymentactor.Result, error) { h.restart(); return h.Find(org, id) },
		"nobody does anything": func(h *fixture, id ledger.ID) (paymentactor.Result, error) { return h.Find(org, id) },
		"a due item comes twice": func(h *fixture, id ledger.ID) (paymentactor.Result, error) {
			h.due(id)
			h.due(id)
			h.Runtime.Quiesce()
			return h.Find(org, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rail{submit: func(_ context.Context, call *actors.Call) actors.Outcome {
				if call.Operation == actors.Void {
					return busy
				}
				return lostAnswer
			}}
			r.says(actors.Pay, notKnown)
			h := openAs(t, func(h *fixture) { h.on(r) })
			id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			h.advance(10 * time.Second)
			if r := h.is(id, payment.Charging, ""); r.NotFoundAnswers != 1 {
				t.Fatalf("unheard %d", r.NotFoundAnswers)
			}
			h.advance(time.Second)
			if got := h.must(meddle(h, id)); got.Status != payment.Charging {
				t.Errorf("%s %q before the provider time-out has passed", got.Status, why(got.Failure))
			}
			h.advance(time.Minute)
			h.is(id, payment.Failed, "interrupted")
		})
	}
}

// If a rail never knows the operation under any id, the transaction still ends.
func TestAnOperationThatNeverArrivesIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		operation actors.Operation
		set       func(*fixture)
		card      string
		do        func(h *fixture, id ledger.ID) (paymentactor.Result, error)
		want      payment.Status
	}{
		"refund": {actors.Refund, plain, "4242424242424242", func(h *fixture, id ledger.ID) (paymentactor.Result, error) {
			return h.Refund(part(id, 0))
		}, payment.Charged},
		"commit": {actors.Capture, func(h *fixture) { h.set(0, twoPhase) }, "4242424242424242", func(h *fixture, id ledger.ID) (paymentactor.Result, error) {
			return h.Commit(part(id, 0))
		}, payment.PaymentHeld},
		"cancel": {actors.Void, plain, "4000000000000077", func(h *fixture, id ledger.ID) (paymentactor.Result, error) {
			return h.Cancel(of(id))
		}, payment.Charged},
	} {
		t.Run(name, func(t *testing.T) {
			r := scripted(c.operation, lostAnswer).says(c.operation, notKnown)
			h := openAs(t, func(h *fixture) { c.set(h); h.on(r) })
			id := h.create(payment.Payment, c.card, 70, "").Record.ID
			h.must(c.do(h, id))
			h.advance(10 * time.Minute)
			if got := h.read(id); got.Status != c.want || got.Op != nil {
				t.Errorf("%s with operation %+v", got.Status, got.Op)
			}
			h.submitted(id, c.operation, 2)
		})
	}
}

// An operation that has not begun when its caller stops waiting is not begun any more, because the
// caller was told that nothing was done.
func TestAnOperationThatWaitedTooLongIsNotDone(t *testing.T) {
	r := new(rail)
	began, resume := make(chan ledger.ID), make(chan struct{})
	r.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		began <- call.Reference
		<-resume
		return actors.Outcome{Verdict: payment.VerdictAction, Action: &payment.Action{Material: []byte(`{}`)}}
	}
	h := openAs(t, func(h *fixture) { h.wait = 50 * time.Millisecond; h.on(r) })
	go func() { _, _ = h.try(payment.Payment, "") }()
	id := <-began
	_, err := h.Cancel(of(id))
	h.refused(err, ledger.Unavailable)
	secret := material(id, `{"otp":"123456"}`)
	_, err = h.Complete(secret)
	h.refused(err, ledger.Unavailable)
	close(resume)
	soon(t, "at rest", h.Runtime.Quiesce)
	h.is(id, payment.ActionRequired, "")
	h.submitted(id, actors.Void, 0)
	h.submitted(id, actors.Complete, 0)
	if !wiped(secret.Object) {
		t.Error("the material is still there")
	}
}

// An operation that has begun is answered with the state reached, and a repeated request gets the
// same answer, whatever happened since.
func TestAnOperationThatTakesTooLongIsAnsweredWithTheStateReached(t *testing.T) {
	r := new(rail)
	began, resume := make(chan struct{}), make(chan struct{})
	r.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Refund {
			close(began)
			<-resume
		}
		return r.Provider.Submit(ctx, call)
	}
	h := openAs(t, func(h *fixture) { h.on(r) })
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	refund := part(id, 0)
	refund.Key = keyed("k", "a")
	overdue := h.BeginRefund(refund)
	<-began
	first := h.whole(overdue())
	if first.Record.Status != payment.Charged || first.Record.Op == nil {
		t.Errorf("%s, operation %+v", first.Record.Status, first.Record.Op)
	}
	close(resume)
	soon(t, "at rest", h.Runtime.Quiesce)
	h.is(id, payment.Refunded, "")
	if again := h.whole(h.Refund(refund)); !again.Replay || again.Stamp != first.Stamp || again.Record.Status != payment.Charged {
		t.Errorf("%s %+v, replay %v", again.Record.Status, again.Stamp, again.Replay)
	}
	h.submitted(id, actors.Refund, 1)
}
