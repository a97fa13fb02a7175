package stripe_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func TestPaymentByCardIsPreparedThenConfirmed(t *testing.T) {
	f := open(t, params{"save_cards": false, "statement_descriptor": "ORDER 7"})
	r := f.pay(goodCard, 1000)
	f.want(r.ID, payment.Charged, "")
	want := []string{"POST /v1/payment_methods", "POST /v1/payment_intents", "POST /v1/payment_intents/pi/confirm"}
	if got := f.requests(0); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
	requests := f.sent()
	for name, value := range map[string]string{
		"type": "card", "card[number]": "************4242", "card[exp_month]": "9", "card[exp_year]": "2031", "card[cvc]": "***", "billing_details[name]": "O'Hara & Søn",
	} {
		if got := requests[0].Params.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	for name, value := range map[string]string{
		"amount": "1000", "currency": "usd", "confirm": "false", "capture_method": "automatic", "payment_method_types[0]": "card",
		"metadata[reference]": r.ID.String(), "metadata[terminal]": f.terminals[0].ID.String(), "statement_descriptor_suffix": "ORDER 7", "setup_future_usage": "",
	} {
		if got := requests[1].Params.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if got := requests[2].Params.Get("return_url"); !strings.Contains(got, r.ID.String()) {
		t.Errorf("return_url is %q", got)
	}
	for _, request := range requests {
		if !strings.HasPrefix(request.IdempotencyKey, "mizan-"+f.terminals[0].ID.String()) {
			t.Errorf("the key of %s is %q", request.Path, request.IdempotencyKey)
		}
	}
	f.wantAgreement()
}

// The reasons are those of Stripe's test cards (docs.stripe.com/testing).
func TestDeclinedCardHasOurReason(t *testing.T) {
	f := open(t, nil)
	for number, code := range map[string]payment.Code{
		declinedCard: payment.CardDeclined, poorCard: payment.InsufficientFunds, "4000000000009987": payment.CardDeclined, "4000000000009979": payment.CardDeclined,
		"4000000000000069": payment.ExpiredCard, "4000000000000127": payment.CardDeclined, "4000000000000119": payment.ProcessingError,
		"4000000000006975": payment.CardDeclined, "4100000000000019": payment.CardDeclined,
		"4242424242424241": payment.CardDeclined, // its check digit is wrong, so Stripe takes no PaymentMethod of it
	} {
		r := f.pay(number, 1000)
		if f.want(r.ID, payment.Rejected, code); r.Failure.Detail != "" {
			t.Errorf("%s has the text %q", number, r.Failure.Detail)
		}
	}
	f.wantAgreement()
}

func TestCardNumberIsSentOnlyIfTheAccountMay(t *testing.T) {
	f := open(t, params{"raw_cards": false})
	r := f.pay(goodCard, 1000)
	f.want(r.ID, payment.Rejected, payment.RawCardsNotAllowed)
	if got := f.requests(0); len(got) != 0 {
		t.Errorf("requests %q", got)
	}
}

func TestAmountThatStripeRefusesIsOutOfRange(t *testing.T) {
	f := open(t, nil)
	f.want(f.pay(goodCard, 49).ID, payment.Rejected, payment.AmountOutOfRange)
	f.want(f.pay(goodCard, 100_000_000).ID, payment.Rejected, payment.AmountOutOfRange)
	requests := len(f.sent())
	f.want(f.pay(goodCard, 1_000_000_000_000).ID, payment.Rejected, payment.AmountOutOfRange)
	if got := f.requests(requests); len(got) != 0 {
		t.Errorf("requests %q for an amount that is never sent", got)
	}
}

// authenticate decides the challenge of a transaction, and lets the payer return.
func (f *fixture) authenticate(r *payment.Record, isApproved bool) {
	f.t.Helper()
	target, err := f.stub.Authenticate(intentOf(f.t, r), isApproved)
	if err != nil {
		f.t.Fatal(err)
	}
	if !strings.HasPrefix(target, "https://ours.example/pay/return?id="+r.ID.String()) {
		f.t.Errorf("the payer returns to %s", target)
	}
}

func TestPayerAuthenticatesAndReturns(t *testing.T) {
	for _, test := range []struct {
		isApproved bool
		status     payment.Status
		code       payment.Code
	}{{true, payment.Charged, ""}, {false, payment.Rejected, payment.AuthenticationFailed}} {
		f := open(t, nil)
		r := f.want(f.pay(challengeCard, 1000).ID, payment.ActionRequired, "")
		if a := r.Action; a.Type != "redirect" || a.Method != "get" || !strings.HasPrefix(a.URL, f.stub.URL) {
			t.Errorf("action %+v", a)
		}
		f.authenticate(r, test.isApproved)
		f.must(f.OnReturn(org, r.ID))
		f.want(r.ID, test.status, test.code)
		f.wantAgreement()
	}
}

// A payer who never returns is found by the inquiries.
func TestPayerAuthenticatesAndDoesNotReturn(t *testing.T) {
	f := open(t, nil)
	r := f.want(f.pay(challengeCard, 1000).ID, payment.ActionRequired, "")
	f.authenticate(r, true)
	f.advance(2 * time.Minute)
	f.want(r.ID, payment.Charged, "")
	f.wantAgreement()
}

func TestPayerWhoDoesNothingIsNotCharged(t *testing.T) {
	f := open(t, nil)
	r := f.want(f.pay(challengeCard, 1000).ID, payment.ActionRequired, "")
	for range 35 {
		f.advance(time.Minute)
	}
	f.want(r.ID, payment.Rejected, payment.PayerActionExpired)
	if _, err := f.stub.Authenticate(intentOf(t, r), true); err == nil {
		t.Error("the payer could still authenticate")
	}
	f.wantAgreement()
}

func TestSlowPaymentIsPendingThenCharged(t *testing.T) {
	f := open(t, nil)
	f.stub.SlowProcessing(true)
	paid, declined := f.pay(goodCard, 1000), f.pay(poorCard, 1000)
	f.want(paid.ID, payment.Charging, "")
	f.settle()
	f.want(paid.ID, payment.Charged, "")
	f.want(declined.ID, payment.Rejected, payment.InsufficientFunds)
	f.wantAgreement()
}

func hold(t *testing.T) *fixture {
	return open(t, params{"two_phase": true, "save_cards": false})
}

func TestHeldMoneyIsCapturedInPart(t *testing.T) {
	f := hold(t)
	r := f.pay(goodCard, 1000)
	f.want(r.ID, payment.PaymentHeld, "")
	f.wantAgreement()
	f.must(f.Commit(amountCommand(r.ID, 700)))
	f.want(r.ID, payment.Charged, "")
	f.wantAgreement()
	// What was not captured is a refund at Stripe, which is not ours.
	f.must(f.Refund(amountCommand(r.ID, 200)))
	f.must(f.Refund(amountCommand(r.ID, 500)))
	f.want(r.ID, payment.Refunded, "")
	f.wantAgreement()
}

func TestHeldMoneyIsReleased(t *testing.T) {
	f := hold(t)
	r := f.pay(goodCard, 1000)
	f.must(f.Cancel(command(r.ID)))
	f.want(r.ID, payment.Failed, payment.CancelledByCaller)
	f.wantAgreement()
}

// Stripe releases an authorization by itself after seven days. Our hold is shorter by default, but a capture may come too late.
func TestCaptureOfAnExpiredAuthorizationFails(t *testing.T) {
	f := open(t, params{"two_phase": true, "hold_ttl_seconds": 14 * 24 * 3600})
	r := f.pay(goodCard, 1000)
	if err := f.Clock.Set(f.Clock.Now().Add(8 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.must(f.Commit(amountCommand(r.ID, 700)))
	f.settle()
	f.want(r.ID, payment.PaymentHeld, payment.HoldExpired)
	f.must(f.Cancel(command(r.ID)))
	f.want(r.ID, payment.Failed, payment.CancelledByCaller)
	f.wantAgreement()
}

func TestPendingRefundIsAwaited(t *testing.T) {
	f := open(t, nil)
	r := f.pay(pendingRefund, 1000)
	f.must(f.Refund(amountCommand(r.ID, 400)))
	f.want(r.ID, payment.Refunding, "")
	f.settle()
	f.want(r.ID, payment.Refunded, "")
	f.wantAgreement()
}

func TestRefundOfADisputedChargeIsRefused(t *testing.T) {
	f := open(t, nil)
	r := f.pay(goodCard, 1000)
	if _, err := f.stub.OpenDispute(f.stub.Movements(r.ID.String()).Charged[0].ID, "fraudulent"); err != nil {
		t.Fatal(err)
	}
	f.must(f.Refund(amountCommand(r.ID, 400)))
	if last := f.want(r.ID, payment.Charged, "").LastRefund(); last.Status != payment.RefundFailed || last.Failure.Code != payment.RefundDeclined {
		t.Errorf("refund %+v", last)
	}
}

// renew charges the card of an earlier payment again.
func (f *fixture) renew(initial ledger.ID) *payment.Record {
	f.t.Helper()
	renewal := actors.Renewal{Org: org, ID: newID(), Subscription: newID(), Number: 1, Initial: initial, Amount: f.read(initial).Amount}
	f.Renew(renewal)
	f.Runtime.Quiesce()
	f.created = append(f.created, renewal.ID)
	return f.read(renewal.ID)
}

func TestSavedCardIsChargedWithoutItsPayer(t *testing.T) {
	for _, number := range []string{goodCard, onceCard} {
		f := open(t, nil)
		r := f.pay(number, 1000)
		if number == onceCard {
			f.authenticate(r, true)
			f.must(f.OnReturn(org, r.ID))
		}
		if r = f.want(r.ID, payment.Charged, ""); !r.HasCredential() {
			t.Fatal("the card was not saved")
		}
		mark := len(f.sent())
		renewed := f.renew(r.ID)
		f.want(renewed.ID, payment.Charged, "")
		want := []string{"POST /v1/payment_intents", "POST /v1/payment_intents/pi/confirm"}
		if got := f.requests(mark); !slices.Equal(got, want) {
			t.Errorf("requests %q, want %q", got, want)
		}
		if confirm := f.sent()[mark+1].Params; confirm.Get("off_session") != "true" || confirm.Has("return_url") {
			t.Errorf("confirmed with %v", confirm)
		}
		f.wantAgreement()
	}
}

func TestCapturedCardIsSaved(t *testing.T) {
	f := open(t, params{"two_phase": true})
	r := f.pay(goodCard, 1000)
	f.must(f.Commit(amountCommand(r.ID, 1000)))
	if r = f.want(r.ID, payment.Charged, ""); !r.HasCredential() {
		t.Error("the card was not saved")
	}
}

func TestCardIsSavedOnlyIfTheTerminalSavesCards(t *testing.T) {
	f := open(t, params{"save_cards": false})
	if r := f.want(f.pay(goodCard, 1000).ID, payment.Charged, ""); r.HasCredential() {
		t.Error("the card was saved")
	}
}

// Nobody can authenticate a renewal, so it has failed, and the intent cannot be paid any more.
func TestRenewalThatAsksForAuthenticationHasFailed(t *testing.T) {
	f := open(t, nil)
	r := f.pay(challengeCard, 1000)
	f.authenticate(r, true)
	f.must(f.OnReturn(org, r.ID))
	renewed := f.renew(r.ID)
	f.want(renewed.ID, payment.Rejected, payment.AuthenticationFailed)
	f.wantAgreement()
}

// Another terminal is tried if nothing can have been charged at the first one.
func TestAnotherTerminalIsTriedAfterARefusal(t *testing.T) {
	f := open(t, params{"raw_cards": false})
	second := f.addTerminal(directory.PaymentTerminal, params{"priority": 2})
	r := f.pay(goodCard, 1000)
	if r = f.want(r.ID, payment.Charged, ""); r.Terminal != second.ID {
		t.Errorf("charged at %s", r.Terminal)
	}
	f.wantAgreement()
}

// A payout can't be held at Stripe, so a terminal that holds first pays nothing.
func TestPayoutIsNotHeldFirst(t *testing.T) {
	f := open(t, nil)
	o := f.submit(&actors.Call{
		Org: org, Reference: newID(), Operation: actors.PayOut, Hold: true, Terminal: f.addTerminal(directory.PayoutTerminal, nil), Amount: money.FromUint64(1000), Asset: usd,
		Method: "bank_account",
	})
	if o.Verdict != payment.VerdictRefused || len(f.sent()) != 0 {
		t.Errorf("%+v after %q", o, f.requests(0))
	}
}

func TestPayoutGoesToTheAccountsBank(t *testing.T) {
	f := open(t, nil)
	if !f.provider.Accepts(actors.PayOut, "bank_account") || f.provider.Accepts(actors.PayOut, payment.BankCard) || f.provider.Accepts(actors.Pay, "sepa") {
		t.Error("it accepts other methods than it should")
	}
	f.addTerminal(directory.PayoutTerminal, nil)
	f.pay("4000000000000077", 5000) // its money is available at once
	payOut := func(amount uint64) *payment.Record {
		return f.pay(goodCard, amount, func(c *paymentactor.Create) {
			c.Request.Type, c.Request.Method, c.Request.CardBIN, c.Request.CardLast4, c.Card = payment.Payout, "bank_account", "", "", nil
		})
	}
	paid := payOut(2000)
	if _, err := f.Cancel(command(paid.ID)); err != nil && !ledger.IsRefusal(err, ledger.NotReversible) {
		t.Error(err)
	}
	if now := f.read(paid.ID); now.Status.IsFinal() && now.Status != payment.Charged {
		t.Errorf("a payout that Stripe makes was cancelled: %s", now.Status)
	}
	f.want(paid.ID, payment.Charging, "")
	for range 60 {
		f.advance(time.Hour)
	}
	f.want(paid.ID, payment.Charged, "")
	if got := total(f.stub.Movements(paid.ID.String()).PaidOut); got != 2000 {
		t.Errorf("paid out %d", got)
	}
	if refused := payOut(2900); refused.Status != payment.Rejected || refused.Failure.Code != payment.InsufficientFunds { // less Stripe's fee it is not there
		t.Errorf("it is %s %s", refused.Status, refused.Failure.Code)
	}
}

// Stripe may also show the renewal's intent with an open authentication. It is cancelled, so that nobody completes it later.
func TestOpenAuthenticationOfARenewalIsCancelled(t *testing.T) {
	f := open(t, nil)
	r := f.pay(challengeCard, 1000)
	o := f.provider.Inquire(t.Context(), &actors.Inquiry{
		Terminal: f.terminals[0], Reference: r.ID, Operation: actors.Pay,
		ChargeState: actors.ChargeState{Meta: []byte(`{"stripe_payment_intent":"` + intentOf(t, r) + `","stripe_off_session":true}`)},
	})
	if o.Verdict != payment.VerdictRefused || o.Failure.Code != payment.AuthenticationFailed {
		t.Errorf("the outcome is %v %v", o.Verdict, o.Failure)
	}
	if _, err := f.stub.Authenticate(intentOf(t, r), true); err == nil {
		t.Error("the payer could still authenticate")
	}
}
