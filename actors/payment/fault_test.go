package payment_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
)

// failingSealer is a keyring that cannot seal (encrypt) a card.
type failingSealer struct{ paymentactor.Sealer }

func (failingSealer) SealCard(*secret.Card, []byte) ([]byte, error) { return nil, errors.New("no key") }

// A card that cannot be sealed is not stored. The caller gets an error, and the charge ends when the
// payer's time is over.
func TestCardThatCannotBeSealedIsNotStored(t *testing.T) {
	f := openWith(t, func(f *fixture) { f.sealer, f.handling = failingSealer{f.Keyring}, time.Millisecond })
	create := request(payment.Payment, redirect, 70, "tx")
	create.Partner = f.partner
	number := create.Card.Number
	_, err := f.Create(create)
	f.wantRefusal(err, ledger.Internal)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	if !isWiped(number) {
		t.Error("the card is still there")
	}
	f.advance(time.Minute)
	repeated := f.create(payment.Payment, redirect, 70, "tx")
	if repeated.Record.Status != payment.ActionRequired || repeated.Record.KeepCard || f.hasSealedCard(repeated.Record.ID) {
		t.Errorf("%s, a card is kept: %v", repeated.Record.Status, repeated.Record.KeepCard)
	}
	f.advance(time.Hour)
	f.wantStatus(repeated.Record.ID, payment.Rejected, "payer action expired")
}

// A waiting caller is answered at once if the actor panics after the decision is durable.
func TestOperationIsAnsweredAtOnceIfItsActorPanics(t *testing.T) {
	var shallPanic atomic.Bool
	f := openWith(t, func(f *fixture) {
		f.handling = time.Millisecond
		f.onTerminalLookup = func() {
			if shallPanic.Swap(false) {
				panic("a bug")
			}
		}
	})
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	shallPanic.Store(true)
	_, err := f.Refund(amountCommand(id, 0))
	f.wantRefusal(err, ledger.Internal)
	f.advance(time.Minute) // the provider's answers say that the call never arrived, so it is sent
	f.wantStatus(id, payment.Refunded, "")
	f.wantSubmissions(id, actors.Refund, 1)
}

// An observer is called only after a status is durable, so its panic does not change the stored record.
func TestPanickingObserverHasNoEffect(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.handling = time.Millisecond
		f.observe = func(_ ledger.ID, _ payment.Status, r *payment.Record) {
			if r.Status == payment.Charged || r.Status == payment.Refunded {
				panic("a bug")
			}
		}
	})
	_, err := f.tryCreate(payment.Payment, "tx")
	f.wantRefusal(err, ledger.Internal)
	r := f.create(payment.Payment, "4242424242424242", 70, "tx")
	if !r.Replay || r.Record.Status != payment.Charged {
		t.Errorf("%s, replay %v", r.Record.Status, r.Replay)
	}
	_, err = f.Refund(amountCommand(r.Record.ID, 0))
	f.wantRefusal(err, ledger.Internal)
	f.wantStatus(r.Record.ID, payment.Refunded, "")
}

// fillTotals raises the partner's totals to nearly a quarter of the largest amount, so the writer refuses every further
// command. Each of the two steps moves less than a quarter, debits and credits together.
func (f *fixture) fillTotals() {
	f.t.Helper()
	eighth := money.FromUint64(1)
	for range 253 {
		eighth, _ = eighth.Add(eighth)
	}
	step, err := eighth.Sub(money.FromUint64(1))
	if err != nil {
		f.t.Fatal(err)
	}
	f.fundWith(step)
	f.fundWith(step)
}

func TestNothingBeginsIfTotalsCouldOverflow(t *testing.T) {
	f := open(t)
	chargedID := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	hostedID := f.mustRecord(f.createWith(payment.Payout, "", 70, func(c *paymentactor.Create) {
		c.Hosted, c.Card, c.Request.Method = true, nil, ""
	})).ID
	f.fillTotals()
	r := f.create(payment.Payout, "4242424242424242", 70, "").Record
	if r.Status != payment.Rejected || failureText(r.Failure) != "amount out of range" {
		t.Errorf("a payout is %s %q", r.Status, failureText(r.Failure))
	}
	if r := f.mustRecord(f.Continue(cardContinue(hostedID, "4242424242424242"))); r.Status != payment.Rejected || failureText(r.Failure) != "amount out of range" {
		t.Errorf("a hosted payout is %s %q", r.Status, failureText(r.Failure))
	}
	_, err := f.Refund(amountCommand(chargedID, 0))
	f.wantRefusal(err, ledger.Unavailable)
	f.wantStatus(chargedID, payment.Charged, "")
	for _, id := range []ledger.ID{chargedID, hostedID, r.ID} {
		if f.submissions(id, actors.PayOut)+f.submissions(id, actors.Refund) != 0 {
			t.Errorf("the provider was called for %v", id)
		}
	}
}

// changeVersion writes a record unchanged, so that its stored version is newer than the actor's.
func (f *fixture) changeVersion(id ledger.ID) {
	f.t.Helper()
	r := f.mustResult(f.Find(org, id))
	answer := make(chan error, 1)
	list, otherLists := payment.Lists.Of(r.Record)
	f.Journal.Submit(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Transaction, ID: id}, Expect: r.Header.Version, Record: paymentcodec.Encode(r.Record), Due: r.Header.Due,
		List: list, FurtherLists: otherLists,
		Events: []ledger.Event{{Name: "await", From: string(r.Record.Status), To: string(r.Record.Status)}},
	}}}, func(r posting.Receipt) { answer <- r.Err })
	if err := receiveAnswer(f.t, answer); err != nil {
		f.t.Error(err)
	}
}

// If the writer refuses because the record has changed meanwhile, the decision is made again.
func TestDecisionOnAStaleRecordIsMadeAgain(t *testing.T) {
	refusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}
	for name, c := range map[string]struct {
		outcome actors.Outcome
		want    payment.Status
		reason  string
	}{
		"charged":                               {done, payment.Charged, ""},
		"refused, with another terminal to try": {refusal, payment.Rejected, "card_declined"},
	} {
		t.Run(name, func(t *testing.T) {
			provider := new(fakeProvider)
			f := openWith(t, func(f *fixture) { f.addTerminal(0, func(terminalSettings) {}); f.useProvider(provider) })
			provider.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
				f.changeVersion(call.Reference)
				return c.outcome
			}
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			f.wantStatus(id, c.want, c.reason)
		})
	}
}

// The writer refuses the first decision on an operation. If the second decision panics, the caller still
// gets an answer.
func TestOperationIsAnsweredIfItsSecondDecisionPanics(t *testing.T) {
	f := open(t)
	f.skipChecker = true
	id := f.createHosted("").Record.ID
	lookups := 0
	f.onPartnerLookup = func() {
		if lookups++; lookups == 1 {
			f.changeVersion(id) // the record changes before the decision is durable
			return
		}
		panic("a bug")
	}
	continuation := cardContinue(id, "4242424242424242")
	number := continuation.Card.Number
	f.wantRefusal(receiveAnswer(t, f.SendContinue(continuation)), ledger.Internal)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	if lookups != 2 || !isWiped(number) {
		t.Errorf("decided on %d times, the card is wiped: %v", lookups, isWiped(number))
	}
	f.wantStatus(id, payment.Created, "")
}

// The card and the payer's data for a call in progress are not wiped if the actor panics.
func TestPanicDoesNotWipeTheCardOfACallInProgress(t *testing.T) {
	provider := new(fakeProvider)
	submitted, resume := make(chan ledger.ID), make(chan struct{})
	var receivedSecrets string
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Complete {
			submitted <- call.Reference
			<-resume
			receivedSecrets = string(call.Material) + string(call.Card.Number)
		}
		return provider.Provider.Submit(ctx, call)
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, password, 70, "").Record.ID
	answer := make(chan error, 1)
	go func() {
		_, err := f.Complete(materialCommand(id, `{"otp":"123456"}`))
		answer <- err
	}()
	<-submitted
	f.Send(actors.RecordKey{Org: org, ID: id}, "what is this")
	f.wantRefusal(receiveAnswer(t, answer), ledger.Internal)
	close(resume)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	f.wantStatus(id, payment.Charged, "")
	if receivedSecrets != `{"otp":"123456"}`+password {
		t.Errorf("the provider had %q", receivedSecrets)
	}
}
