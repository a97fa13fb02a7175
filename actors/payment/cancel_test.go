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

func TestUnsettledChargeIsCancelledAtTheProviderAndFails(t *testing.T) {
	f := open(t)
	for name, r := range map[string]*payment.Record{
		"charging":             f.create(payment.Payment, "4000000000000077", 70, "").Record,
		"unknown outcome":      f.create(payment.Payment, "4000000000000341", 70, "").Record,
		"a payer must act":     f.create(payment.Payment, redirect, 70, "").Record,
		"a charging payout":    f.create(payment.Payout, "4000000000000077", 70, "").Record,
		"a payout that waits":  f.mustRecord(f.createWith(payment.Payout, "", 70, withMethod("sepa"))),
		"a rail's own page":    f.mustRecord(f.createWith(payment.Payment, "", 70, withMethod("sbp"))),
		"a payment by deposit": f.mustRecord(f.createWith(payment.Payment, "", 70, withMethod("crypto"))),
	} {
		t.Run(name, func(t *testing.T) {
			cancelledRecord := f.mustRecord(f.Cancel(partnerCommand(r.ID)))
			if cancelledRecord.Status != payment.Failed || failureText(cancelledRecord.Failure) != "cancelled" || cancelledRecord.Action != nil {
				t.Errorf("%s %q", cancelledRecord.Status, failureText(cancelledRecord.Failure))
			}
			f.wantSubmissions(r.ID, actors.Void, 1)
			_, err := f.Cancel(partnerCommand(r.ID))
			f.wantRefusal(err, ledger.NotReversible)
		})
	}
	f.advance(time.Hour)
	f.wantBalance("100000 / 0")
	if got := f.headroom(usd); got != "0" {
		t.Errorf("headroom %s", got)
	}
}

func TestCancelIsRefusedForUnsentAndFinishedTransactions(t *testing.T) {
	f := open(t)
	for name, r := range map[string]*payment.Record{
		"charged":  f.create(payment.Payment, "4242424242424242", 70, "").Record,
		"declined": f.create(payment.Payment, "4000000000000002", 70, "").Record,
		"rejected": f.mustRecord(f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Request.FailURL = "" })),
		"hosted":   f.createHosted("").Record,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.Cancel(partnerCommand(r.ID))
			f.wantRefusal(err, ledger.NotReversible)
			f.wantSubmissions(r.ID, actors.Void, 0)
		})
	}
}

// If the provider answers that the charge has settled, the transaction is charged, and the caller of
// the cancel gets the error that it was too late.
func TestCancelIsRefusedIfTheProviderReportsTheSettlement(t *testing.T) {
	refusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "already_charged"}}
	provider := scriptedProvider(actors.Void, refusal).answerInquiries(actors.Pay, done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	for _, card := range []string{"4000000000000077", redirect} {
		id := f.create(payment.Payment, card, 70, "").Record.ID
		_, err := f.Cancel(partnerCommand(id))
		f.wantRefusal(err, ledger.NotReversible)
		f.wantStatus(id, payment.Charged, "")
		if f.hasSealedCard(id) {
			t.Error("its card is kept")
		}
	}
	f.wantBalance("100140 / 0")
}

func TestCancelRefusedByTheProviderLeavesTheChargeUnchanged(t *testing.T) {
	refusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "busy"}}
	provider := scriptedProvider(actors.Void, refusal).answerInquiries(actors.Pay, actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Second}, done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	if r := f.mustRecord(f.Cancel(partnerCommand(id))); r.Status != payment.Charging || failureText(r.Failure) != "" {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	f.advance(time.Second)
	f.wantStatus(id, payment.Charged, "")
}

func TestUnknownCancelIsOnlyInquiredAndTheInquiryDecides(t *testing.T) {
	for _, c := range []struct {
		name           string
		inquiryAnswers []actors.Outcome
		chargeAnswer   actors.Outcome
		status         payment.Status
		reason         string
	}{
		{"granted", []actors.Outcome{done}, done, payment.Failed, "cancelled"},
		{"refused", []actors.Outcome{{Verdict: payment.VerdictRefused}}, done, payment.Charged, ""},
		{"never arrived, and is sent again under the same id", []actors.Outcome{notFound}, done, payment.Failed, "cancelled"},
		{"refused, and the charge too", []actors.Outcome{{Verdict: payment.VerdictRefused}},
			actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}, payment.Rejected, "card_declined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			provider := scriptedProvider(actors.Void, lostAnswer, done)
			provider.inquire = func(ctx context.Context, q *actors.Inquiry) actors.Outcome {
				if q.Operation == actors.Void {
					o := c.inquiryAnswers[0]
					c.inquiryAnswers = c.inquiryAnswers[min(1, len(c.inquiryAnswers)-1):]
					return o
				}
				return c.chargeAnswer
			}
			f := openWith(t, func(f *fixture) { f.useProvider(provider) })
			id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
			if r := f.mustRecord(f.Cancel(partnerCommand(id))); r.Status != payment.Charging {
				t.Errorf("%s %q", r.Status, failureText(r.Failure))
			}
			_, err := f.Cancel(partnerCommand(id))
			f.wantRefusal(err, ledger.Conflict)
			_, err = f.Commit(amountCommand(id, 0))
			f.wantRefusal(err, ledger.Conflict)
			f.advance(time.Minute)
			f.wantStatus(id, c.status, c.reason)
			f.wantSubmissions(id, actors.Void, 1+strings.Count(c.name, "again"))
		})
	}
}

// An operation waits for the answer to the call in progress, because the answer may decide the operation.
func TestOperationsWaitForTheAnswerToTheCallInProgress(t *testing.T) {
	for name, c := range map[string]struct {
		outcome    actors.Outcome
		cancelCode ledger.Code // code with which the cancel is refused; empty: it succeeds
		refundCode ledger.Code // code with which the refund is refused; empty: it succeeds
	}{
		"charged":  {done, ledger.NotReversible, ""},
		"declined": {actors.Outcome{Verdict: payment.VerdictRefused}, ledger.NotReversible, ledger.NotReversible},
		"pending":  {actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Hour}, "", ledger.NotReversible},
	} {
		t.Run(name, func(t *testing.T) {
			provider := new(fakeProvider)
			submitted, resume := make(chan ledger.ID), make(chan struct{})
			provider.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
				if call.Operation != actors.Pay {
					return done
				}
				submitted <- call.Reference
				<-resume
				return c.outcome
			}
			f := openWith(t, func(f *fixture) { f.useProvider(provider) })
			go func() { _, _ = f.tryCreate(payment.Payment, "") }()
			id := <-submitted
			cancelReply, refundReply := f.SendCancel(partnerCommand(id)), f.SendRefund(partnerCommand(id))
			close(resume)
			for _, answer := range []struct {
				err  error
				want ledger.Code
			}{{receiveAnswer(t, cancelReply), c.cancelCode}, {receiveAnswer(t, refundReply), c.refundCode}} {
				if answer.want != "" {
					f.wantRefusal(answer.err, answer.want)
				} else if answer.err != nil {
					t.Error(answer.err)
				}
			}
		})
	}
}

func TestWaitingOperationsAreBoundedAndAllAnswered(t *testing.T) {
	provider := new(fakeProvider)
	submitted, resume := make(chan ledger.ID), make(chan struct{})
	provider.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		submitted <- call.Reference
		<-resume
		return done
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	go func() { _, _ = f.tryCreate(payment.Payment, "") }()
	id := <-submitted
	answers := make([]<-chan error, paymentactor.MaxStashed)
	for i := range answers {
		answers[i] = f.SendCancel(partnerCommand(id))
	}
	f.wantRefusal(receiveAnswer(t, f.SendCancel(partnerCommand(id))), ledger.Unavailable)
	close(resume)
	for _, answer := range answers {
		f.wantRefusal(receiveAnswer(t, answer), ledger.NotReversible)
	}
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
}

// A waiting caller gets a reply even if the actor panics meanwhile.
func TestWaitingOperationsAreAnsweredAfterAPanic(t *testing.T) {
	provider := new(fakeProvider)
	submitted, resume := make(chan ledger.ID), make(chan struct{})
	provider.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		submitted <- call.Reference
		<-resume
		return done
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	go func() { _, _ = f.tryCreate(payment.Payment, "") }()
	id := <-submitted
	cancelReply := f.SendCancel(partnerCommand(id))
	f.Send(actors.RecordKey{Org: org, ID: id}, "what is this")
	f.wantRefusal(receiveAnswer(t, cancelReply), ledger.Internal)
	close(resume)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	f.wantStatus(id, payment.Charged, "")
}

// After the first answer "unknown reference" the second inquiry waits for its due instant, because the call
// may still be on its way. It does so even if the payer returns or the merchant cancels meanwhile.
func TestReturnsAndCancelsDoNotHastenTheInquiryAfterUnknownReference(t *testing.T) {
	busyRefusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "busy"}}
	for name, operate := range map[string]func(*fixture, ledger.ID) (paymentactor.Result, error){
		"the payer comes back": func(f *fixture, id ledger.ID) (paymentactor.Result, error) { return f.OnReturn(org, id) },
		"the merchant cancels": func(f *fixture, id ledger.ID) (paymentactor.Result, error) { return f.Cancel(partnerCommand(id)) },
		"the process restarts": func(f *fixture, id ledger.ID) (paymentactor.Result, error) { f.restart(); return f.Find(org, id) },
		"nobody does anything": func(f *fixture, id ledger.ID) (paymentactor.Result, error) { return f.Find(org, id) },
		"a due item comes twice": func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			f.wakeAtDueInstant(id)
			f.wakeAtDueInstant(id)
			f.Runtime.Quiesce()
			return f.Find(org, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			provider := &fakeProvider{submit: func(_ context.Context, call *actors.Call) actors.Outcome {
				if call.Operation == actors.Void {
					return busyRefusal
				}
				return lostAnswer
			}}
			provider.answerInquiries(actors.Pay, notFound)
			f := openWith(t, func(f *fixture) { f.useProvider(provider) })
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			f.advance(10 * time.Second)
			if r := f.wantStatus(id, payment.Charging, ""); r.NotFoundAnswers != 1 {
				t.Fatalf("%d answers were: unknown reference", r.NotFoundAnswers)
			}
			f.advance(time.Second)
			if got := f.mustRecord(operate(f, id)); got.Status != payment.Charging {
				t.Errorf("%s %q before the provider time-out has passed", got.Status, failureText(got.Failure))
			}
			f.advance(time.Minute)
			f.wantStatus(id, payment.Failed, "interrupted")
		})
	}
}

// If the rail never gets an operation, even when it is sent again, the operation ends without effect.
func TestOperationThatNeverArrivesEndsWithoutEffect(t *testing.T) {
	for name, c := range map[string]struct {
		operation actors.Operation
		configure func(*fixture)
		card      string
		operate   func(f *fixture, id ledger.ID) (paymentactor.Result, error)
		want      payment.Status
	}{
		"refund": {actors.Refund, unchanged, "4242424242424242", func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			return f.Refund(amountCommand(id, 0))
		}, payment.Charged},
		"commit": {actors.Capture, func(f *fixture) { f.changeTerminal(0, twoPhase) }, "4242424242424242", func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			return f.Commit(amountCommand(id, 0))
		}, payment.PaymentHeld},
		"cancel": {actors.Void, unchanged, "4000000000000077", func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			return f.Cancel(partnerCommand(id))
		}, payment.Charged},
	} {
		t.Run(name, func(t *testing.T) {
			provider := scriptedProvider(c.operation, lostAnswer).answerInquiries(c.operation, notFound)
			f := openWith(t, func(f *fixture) { c.configure(f); f.useProvider(provider) })
			id := f.create(payment.Payment, c.card, 70, "").Record.ID
			f.mustRecord(c.operate(f, id))
			f.advance(10 * time.Minute)
			if got := f.readRecord(id); got.Status != c.want || got.Op != nil {
				t.Errorf("%s with operation %+v", got.Status, got.Op)
			}
			f.wantSubmissions(id, c.operation, 2)
		})
	}
}

// An operation that has not begun when its caller stops waiting is never begun, because the caller got
// the error that nothing was done.
func TestOperationIsNotBegunAfterItsCallerStopsWaiting(t *testing.T) {
	provider := new(fakeProvider)
	submitted, resume := make(chan ledger.ID), make(chan struct{})
	provider.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		submitted <- call.Reference
		<-resume
		return actors.Outcome{Verdict: payment.VerdictAction, Action: &payment.Action{Material: []byte(`{}`)}}
	}
	f := openWith(t, func(f *fixture) { f.createWait = 50 * time.Millisecond; f.useProvider(provider) })
	go func() { _, _ = f.tryCreate(payment.Payment, "") }()
	id := <-submitted
	_, err := f.Cancel(partnerCommand(id))
	f.wantRefusal(err, ledger.Unavailable)
	material := materialCommand(id, `{"otp":"123456"}`)
	_, err = f.Complete(material)
	f.wantRefusal(err, ledger.Unavailable)
	close(resume)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	f.wantStatus(id, payment.ActionRequired, "")
	f.wantSubmissions(id, actors.Void, 0)
	f.wantSubmissions(id, actors.Complete, 0)
	if !isWiped(material.Object) {
		t.Error("the material is still there")
	}
}

// When the wait for an operation that has begun is over, the caller gets the current state. A repeated
// request gets the same reply, even if the transaction has changed since.
func TestSlowOperationIsAnsweredWithTheCurrentState(t *testing.T) {
	provider := new(fakeProvider)
	submitted, resume := make(chan struct{}), make(chan struct{})
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Refund {
			close(submitted)
			<-resume
		}
		return provider.Provider.Submit(ctx, call)
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	refund := amountCommand(id, 0)
	refund.Key = newKey("k", "a")
	replyAfterWait := f.BeginRefund(refund)
	<-submitted
	firstReply := f.mustResult(replyAfterWait())
	if firstReply.Record.Status != payment.Charged || firstReply.Record.Op == nil {
		t.Errorf("%s, operation %+v", firstReply.Record.Status, firstReply.Record.Op)
	}
	close(resume)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	f.wantStatus(id, payment.Refunded, "")
	if repeatedReply := f.mustResult(f.Refund(refund)); !repeatedReply.Replay || repeatedReply.Header != firstReply.Header || repeatedReply.Record.Status != payment.Charged {
		t.Errorf("%s %+v, replay %v", repeatedReply.Record.Status, repeatedReply.Header, repeatedReply.Replay)
	}
	f.wantSubmissions(id, actors.Refund, 1)
}
